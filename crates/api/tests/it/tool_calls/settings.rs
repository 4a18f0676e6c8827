//! What the house and a project set for calls: times to decide, programs that nobody runs, every call asked about, and the
//! network of commands. Each is asked when a call is judged, and once more before its node is told.

use super::Bench;
use domain::rules::{ApprovalRules, Declaration, HouseRules};
use serde_json::{Value, json};
use service::tool_calls::end_overdue_calls_once;
use testkit::World;

async fn declare(world: &World, approvals: ApprovalRules) {
    let house = HouseRules { approvals, ..HouseRules::default() };
    world.declare(Declaration { house, ..Declaration::default() }).await;
}

fn times(medium_timeout_s: u64, high_timeout_s: u64) -> ApprovalRules {
    ApprovalRules { medium_timeout_s, high_timeout_s, ..ApprovalRules::default() }
}

fn denying(names: &[&str]) -> ApprovalRules {
    let denied_commands = names.iter().map(|name| (*name).to_owned()).collect();
    ApprovalRules { denied_commands, ..ApprovalRules::default() }
}

fn seconds_from(world: &World, at: &Value) -> i64 {
    let at: domain::times::Timestamp = serde_json::from_value(at.clone()).unwrap();
    (at.as_ms() - world.house.now().as_ms()) / 1000
}

async fn allow(bench: &Bench<'_>, tools: &[&str]) {
    let rules = json!({"tools": {"allow": tools}});
    bench.world.patch("/admin/workspaces/personal-usr_owner", &rules).by(&bench.owner).send().await.ok();
}

async fn ask_about(bench: &Bench<'_>, approval: &str) -> Value {
    let change = json!({"approval": approval});
    bench.world.patch("/my/projects/garden", &change).by(&bench.owner).send().await.ok()
}

async fn read(bench: &Bench<'_>, path: &str) -> Value {
    bench.execute("tool_read_file", json!({"path": path})).await.ok()
}

/// A command that its node has looked at.
async fn command(bench: &Bench<'_>, program: &str, preview: Value) -> Value {
    let call = bench.execute("tool_execute_command", json!({"program": program, "args": []})).await.ok();
    assert_eq!(call["status"], "proposed", "{call}");
    bench.node.preview(&call, &preview).await.ok()
}

fn found(network: bool) -> Value {
    json!({"program": "/usr/bin/curl", "cwd": ".", "environment": ["PATH"], "network": network})
}

#[tokio::test]
async fn people_have_as_long_as_the_house_says_and_a_call_keeps_the_time_it_began_with() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    declare(&world, times(20, 3_600)).await;
    let first = bench.waiting_write("a").await;
    let high = command(&bench, "ls", json!({"program": "/usr/bin/ls"})).await;
    assert_eq!((seconds_from(&world, &first["deadline_at"]), seconds_from(&world, &first["expires_at"])), (20, 20));
    assert_eq!(seconds_from(&world, &high["expires_at"]), 3_600);
    declare(&world, times(86_400, 10)).await;
    let second = bench.waiting_write("b").await;
    assert_eq!(seconds_from(&world, &second["deadline_at"]), 86_400);
    world.clock.advance_s(19);
    end_overdue_calls_once(&world.house).await.unwrap();
    assert_eq!(bench.call(&first).await["status"], "waiting_approval");
    world.clock.advance_s(1);
    bench.answer(&bench.owner, &first, "approve", &json!({})).await.refused(410, "EXPIRED");
    end_overdue_calls_once(&world.house).await.unwrap();
    assert_eq!(bench.call(&first).await["status"], "expired");
    assert_eq!(bench.call(&high).await["status"], "waiting_approval", "its time is from before");
    bench.node.open().await;
    assert_eq!(bench.approve(&second).await["call_status"], "dispatched");
}

#[tokio::test]
async fn a_house_denies_programs_of_its_own_and_says_which_rule_does() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    declare(&world, denying(&["Docker", "curl"])).await;
    for params in [
        json!({"program": "docker", "args": ["ps"]}),
        json!({"program": "/usr/bin/DOCKER", "args": []}),
        json!({"program": "env", "args": ["A=1", "docker", "ps"]}),
        json!({"program": "sudo", "args": ["ls"]}),
    ] {
        let call = bench.execute("tool_execute_command", params.clone()).await.ok();
        assert_eq!(
            (&call["status"], &call["reason"]["code"]),
            (&json!("denied"), &json!("COMMAND_DENIED")),
            "{params}"
        );
        let message = call["reason"]["message"].as_str().unwrap();
        assert_eq!(message.contains("`approvals.denied_commands`"), params["program"] != "sudo", "{message}");
    }
    // A name that its node finds to be a link to another program.
    let behind_a_link = command(&bench, "fetch", found(false)).await;
    assert_eq!(
        (&behind_a_link["status"], &behind_a_link["reason"]["code"]),
        (&json!("denied"), &json!("COMMAND_DENIED"))
    );
    // The same behind a wrapper, where only the node can know what would be started.
    let wrapped = json!({"program": "env", "args": ["-i", "box", "ps"]});
    let wrapped = bench.execute("tool_execute_command", wrapped).await.ok();
    let starts = json!({"program": "/usr/bin/env", "starts": {"box": "/usr/bin/docker"}});
    let wrapped = bench.node.preview(&wrapped, &starts).await.ok();
    assert_eq!((&wrapped["status"], &wrapped["reason"]["code"]), (&json!("denied"), &json!("COMMAND_DENIED")));
    let other = command(&bench, "ls", json!({"program": "/usr/bin/ls"})).await;
    assert_eq!(other["status"], "waiting_approval");
    declare(&world, denying(&["ls"])).await;
    assert_eq!(bench.approve(&other).await["call_status"], "denied", "the rules are asked again");
    assert!(bench.call(&other).await["reason"]["message"].as_str().unwrap().contains("`ls`"));
    declare(&world, ApprovalRules::default()).await;
    assert_eq!(command(&bench, "fetch", found(false)).await["status"], "waiting_approval");
    assert!(bench.node.open().await.is_empty());
}

#[tokio::test]
async fn where_a_project_wants_every_call_asked_even_a_look_waits_for_a_person() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    assert_eq!(read(&bench, "a").await["status"], "dispatched");
    assert_eq!(ask_about(&bench, "always").await["approval"], "always");
    let call = read(&bench, "b").await;
    assert_eq!((&call["status"], &call["risk"]["level"]), (&json!("waiting_approval"), &json!("LOW")), "{call}");
    assert_eq!(seconds_from(&world, &call["expires_at"]), 300);
    let inbox = world.get("/my/approvals?status=pending").by(&bench.owner).send().await.ok();
    let reasons = inbox["items"][0]["risk"]["reasons"].to_string();
    assert!(reasons.contains("`approval: always`"), "{reasons}");
    assert_eq!(bench.approve(&call).await["call_status"], "dispatched");
    ask_about(&bench, "by_risk").await;
    assert_eq!(read(&bench, "c").await["status"], "dispatched");
}

#[tokio::test]
async fn a_standing_rule_still_answers_for_its_person_where_every_call_is_asked() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    ask_about(&bench, "always").await;
    let call = read(&bench, "a").await;
    let soon = serde_json::to_value(world.house.now().plus_seconds(3600)).unwrap();
    let remember = json!({"remember": {"kind": "call", "for": soon}});
    bench.answer(&bench.owner, &call, "approve", &remember).await.ok();
    assert_eq!(read(&bench, "a").await["status"], "dispatched");
    assert_eq!(read(&bench, "b").await["status"], "waiting_approval");
    world.clock.advance_s(3_600);
    let bench = Bench { owner: world.owner().await, ..bench };
    assert_eq!(read(&bench, "a").await["status"], "waiting_approval", "the rule is over");
}

#[tokio::test]
async fn what_nobody_was_asked_about_does_not_go_out_once_its_project_wants_everybody_asked() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    world.clock.advance_s(120);
    let bench = Bench { owner: world.owner().await, ..bench };
    let low = read(&bench, "a").await;
    let asked = bench.execute("tool_write_file", json!({"path": "b", "content": "x"})).await.ok();
    assert_eq!(
        (&low["status"], &asked["status"]),
        (&json!("approved"), &json!("waiting_approval")),
        "the node is away"
    );
    assert_eq!(bench.approve(&asked).await["call_status"], "approved");
    ask_about(&bench, "always").await;
    let open = bench.node.open().await;
    assert_eq!((open.len(), &open[0]["id"]), (1, &asked["id"]), "a person has said yes to this one");
    let denied = bench.call(&low).await;
    assert_eq!((&denied["status"], &denied["reason"]["code"]), (&json!("denied"), &json!("FORBIDDEN")));
    assert!(denied["reason"]["message"].as_str().unwrap().contains("nobody was asked"), "{denied}");
}

#[tokio::test]
async fn a_command_has_the_network_only_if_the_rules_and_its_node_say_so_and_it_is_shown() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let sandboxed = ["filesystem.*", "exec.sandboxed"];
    let granted = ["filesystem.*", "exec.sandboxed", "exec.network"];
    for (tools, of_node, expected) in [
        (&sandboxed[..], true, false),
        (&granted[..], false, false),
        (&granted[..], true, true),
        (&["exec.*"][..], true, true),
    ] {
        allow(&bench, tools).await;
        let call = command(&bench, "curl", found(of_node)).await;
        assert_eq!((&call["status"], &call["network"]), (&json!("waiting_approval"), &json!(expected)), "{tools:?}");
        let path = format!("/my/approvals/{}", call["approval_id"].as_str().unwrap());
        let card = world.get(&path).by(&bench.owner).send().await.ok();
        let reasons = card["risk"]["reasons"].to_string();
        assert_eq!((&card["network"], reasons.contains("may use the network")), (&json!(expected), expected), "{card}");
        assert_eq!(bench.approve(&call).await["call_status"], "dispatched");
        let told = bench.node.open().await;
        assert_eq!((&told[0]["network"], &told[0]["digest"]), (&json!(expected), &call["digest"]));
        bench.node.accept(&told[0]).await.ok();
        bench.node.result(&told[0], &json!({"success": true})).await.ok();
    }
    // A machine that could not be asked beforehand has not said that it allows it.
    let call = bench.execute("tool_execute_command", json!({"program": "curl", "args": []})).await.ok();
    world.clock.advance_s(2);
    end_overdue_calls_once(&world.house).await.unwrap();
    let call = bench.call(&call).await;
    assert_eq!((&call["status"], &call["network"]), (&json!("waiting_approval"), &json!(false)));
}

#[tokio::test]
async fn a_grant_that_is_gone_when_the_yes_comes_ends_the_call() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    allow(&bench, &["exec.*"]).await;
    let call = command(&bench, "curl", found(true)).await;
    allow(&bench, &["exec.sandboxed"]).await;
    assert_eq!(bench.approve(&call).await["call_status"], "denied");
    let denied = bench.call(&call).await;
    assert_eq!(denied["reason"]["code"], "FORBIDDEN");
    assert!(denied["reason"]["message"].as_str().unwrap().contains("the network"), "{denied}");
    assert!(bench.node.open().await.is_empty());
    assert_eq!(command(&bench, "curl", found(true)).await["network"], false, "it can be asked for without");
}

#[tokio::test]
async fn a_yes_to_a_command_without_the_network_does_not_stand_for_one_with_it() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let soon = serde_json::to_value(world.house.now().plus_seconds(3600)).unwrap();
    let remember = json!({"remember": {"kind": "call", "for": soon}});
    let call = command(&bench, "curl", found(true)).await;
    bench.answer(&bench.owner, &call, "approve", &remember).await.ok();
    assert_eq!(command(&bench, "curl", found(true)).await["status"], "dispatched");
    allow(&bench, &["exec.*"]).await;
    let with_network = command(&bench, "curl", found(true)).await;
    assert_eq!((&with_network["status"], &with_network["network"]), (&json!("waiting_approval"), &json!(true)));
    bench.answer(&bench.owner, &with_network, "approve", &remember).await.refused(400, "INVALID_REQUEST");
    assert_eq!(bench.approve(&with_network).await["status"], "approved");
}

#[tokio::test]
async fn a_look_or_a_change_never_has_the_network_whatever_its_node_says() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    allow(&bench, &["*"]).await;
    let call = bench.execute("tool_write_file", json!({"path": "a", "content": "x"})).await.ok();
    let call = bench.node.preview(&call, &json!({"exists": false, "network": true})).await.ok();
    assert_eq!((&call["network"], &call["risk"]["level"]), (&json!(false), &json!("MEDIUM")));
    let call = bench.execute("tool_write_file", json!({"path": "b", "content": "x"})).await.ok();
    for wrong in [json!({"network": "yes"}), json!({"network": 1}), json!({"network": null})] {
        bench.node.preview(&call, &wrong).await.refused(400, "INVALID_REQUEST");
    }
    assert_eq!(bench.call(&call).await["status"], "proposed");
}
