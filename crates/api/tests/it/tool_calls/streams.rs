//! Who hears of a call: those whom it concerns, on every stream, and nobody else.

use super::rights::on_a_shared_machine;
use domain::roles::{Right, Role, RoleRules};
use domain::rules::Declaration;
use serde_json::{Value, json};
use testkit::{StreamEvent, World};

const SESSION: &str = "/sessions/s/events";
const PROJECT: &str = "/my/projects/shared/events";
const ALL: &str = "/my/events";

/// What a stream has shown somebody from its beginning until now.
async fn shown(world: &World, by: &str, path: &str) -> Vec<StreamEvent> {
    let writer = world.owner().await;
    world.write(&writer, "s", "the_end", "x").await;
    let mut events = world.get(path).by(by).header("last-event-id", "0").stream().await;
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(event);
        if seen.last().is_some_and(|event| event.data["key"] == "the_end") {
            break;
        }
    }
    // So that it is the end of the next look, too.
    world.context(&writer, "s", &json!({"action": "delete", "key": "the_end"})).send().await.ok();
    seen
}

fn kinds(events: &[StreamEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).filter(|kind| kind.starts_with("TOOL_")).collect()
}

/// A session of the project, and a call of mary's in it that was made on her own machine.
async fn a_call_of_marys<'w>(world: &'w World, mary: &str) -> (Value, testkit::HandNode<'w>) {
    world.post("/sessions", &json!({"id": "s", "project": "shared", "workspace": "den"})).by(mary).send().await.ok();
    let node = world.hand_node(mary, "desk", "shared").await;
    let body = json!({"agent": "agent_coder", "session": "s", "tool": "tool_write_file", "node": "desk",
                      "params": {"path": "b", "content": "x"}});
    let call = world.post("/my/projects/shared/tools/execute", &body).by(mary).send().await.ok();
    let call = node.preview(&call, &json!({"exists": false})).await.ok();
    let answer = format!("/my/projects/shared/approvals/{}/approve", call["approval_id"].as_str().unwrap());
    world.post(&answer, &json!({})).by(mary).send().await.ok();
    let call = node.get(&call).await.ok();
    node.accept(&call).await.ok();
    node.result(&call, &json!({"success": true})).await.ok();
    (call, node)
}

async fn let_decide(world: &World, role: &str, rights: Vec<Right>) {
    let mut rules = Declaration::default();
    rules.house.roles.insert(role.into(), RoleRules { rights: Some(rights), ..Default::default() });
    world.declare(rules).await;
}

#[tokio::test]
async fn what_is_done_for_somebody_is_told_to_them_and_to_their_machine_on_every_stream() {
    let world = World::new().await;
    let (_, mary, shared) = on_a_shared_machine(&world).await;
    let (call, node) = a_call_of_marys(&world, &mary).await;
    for path in [SESSION, PROJECT, ALL] {
        let seen = shown(&world, &mary, path).await;
        let told = |kind: &str| seen.iter().any(|event| event.kind == kind && event.data["call"] == call["id"]);
        for kind in ["TOOL_CALL_UPDATED", "TOOL_APPROVAL_REQUEST", "TOOL_APPROVAL_RESOLVED", "TOOL_RESULT_ACK"] {
            assert!(told(kind), "{path} {kind}");
        }
    }
    let mut events = world.get(ALL).by(&node.token).header("last-event-id", "0").stream().await;
    loop {
        let event = events.next().await.expect("an event");
        assert_ne!(event.data["call"], shared["id"], "made on another machine");
        assert!(!event.kind.starts_with("TOOL_APPROVAL"), "a machine decides nothing: {}", event.kind);
        if event.kind == "TOOL_RESULT_ACK" {
            assert_eq!(event.data["call"], call["id"]);
            break;
        }
    }
}

#[tokio::test]
async fn others_of_the_project_hear_nothing_of_it_and_in_the_session_that_something_moved() {
    let world = World::new().await;
    let (owner, mary, _) = on_a_shared_machine(&world).await;
    a_call_of_marys(&world, &mary).await;
    // Also somebody who decides for others: it is nobody else's machine.
    for rights in [vec![], vec![Right::Approve]] {
        let decides = !rights.is_empty();
        let_decide(&world, "admin", rights).await;
        let seen = shown(&world, &owner, SESSION).await;
        let ids: Vec<u64> = seen.iter().map(|event| event.id).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "without a gap");
        let traces: Vec<_> = seen.iter().filter(|event| event.kind.starts_with("TOOL_")).collect();
        assert!(traces.len() > 5);
        for trace in traces {
            let fields: Vec<&String> = trace.data.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["at", "project", "session", "type", "workspace"], "{}", trace.data);
            assert_eq!((&trace.kind[..], &trace.data["type"]), ("TOOL_CALL_UPDATED", &json!("TOOL_CALL_UPDATED")));
        }
        for path in [PROJECT, ALL] {
            let seen = shown(&world, &owner, path).await;
            // Of the call on the machine that is everybody's, whoever decides is told.
            let is_about_b = |event: &StreamEvent| event.data["session"] == "s" && event.kind.starts_with("TOOL_");
            assert!(!seen.iter().any(is_about_b), "{path}");
            assert_eq!(kinds(&seen).is_empty(), !decides, "{path}: {:?}", kinds(&seen));
        }
    }
}

#[tokio::test]
async fn whoever_decides_for_others_hears_of_what_waits_on_a_shared_machine_until_the_right_goes() {
    let world = World::new().await;
    let (owner, mary, call) = on_a_shared_machine(&world).await;
    world.post("/sessions", &json!({"id": "s", "project": "shared", "workspace": "den"})).by(&mary).send().await.ok();
    let read = json!({"agent": "agent_coder", "tool": "tool_read_file", "params": {"path": "never-asked"}});
    let read = world.post("/my/projects/shared/tools/execute", &read).by(&mary).send().await.ok();
    assert_eq!(read["status"], "dispatched");
    for path in [PROJECT, ALL] {
        assert!(kinds(&shown(&world, &owner, path).await).is_empty(), "an admin decides nothing by being one");
    }
    let_decide(&world, Role::Admin.as_str(), vec![Right::Approve]).await;
    let mut live = world.get(ALL).by(&owner).stream().await;
    let seen = shown(&world, &owner, ALL).await;
    let request = seen.iter().find(|event| event.kind == "TOOL_APPROVAL_REQUEST").expect("what waits");
    assert_eq!(request.data["call"], call["id"]);
    assert!(seen.iter().all(|event| event.data["call"] != read["id"]), "nobody was asked about it");

    let_decide(&world, Role::Admin.as_str(), vec![]).await;
    let reject = format!("/my/projects/shared/approvals/{}/reject", call["approval_id"].as_str().unwrap());
    world.post(&reject, &json!({})).by(&mary).send().await.ok();
    world.write(&owner, "s", "later", "x").await;
    loop {
        let event = live.next().await.expect("the stream goes on");
        assert!(!event.kind.starts_with("TOOL_"), "{}", event.data);
        if event.data["key"] == "later" {
            break;
        }
    }
}

#[tokio::test]
async fn a_machine_that_is_gone_is_an_alert_for_whoever_it_is() {
    let world = World::new().await;
    let (owner, mary, _shared) = on_a_shared_machine(&world).await;
    world.post("/sessions", &json!({"id": "s", "project": "shared", "workspace": "den"})).by(&mary).send().await.ok();
    let own = world.hand_node(&mary, "desk", "shared").await;
    own.open().await;
    world.clock.advance_s(200);
    service::nodes::tell_of_the_gone_once(&world.house).await.unwrap();
    service::nodes::tell_of_the_gone_once(&world.house).await.unwrap();
    for (by, expected) in [(&mary, 1), (&owner, 0)] {
        let seen = shown(&world, by, ALL).await;
        let is_of_desk = |event: &&StreamEvent| {
            event.data["alert"] == "node_lost" && event.data["message"].as_str().unwrap_or_default().contains("desk")
        };
        assert_eq!(seen.iter().filter(is_of_desk).count(), expected, "{seen:?}");
    }
}
