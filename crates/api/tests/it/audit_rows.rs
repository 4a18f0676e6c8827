//! What is written down about every change, and what never is.

use super::room::{Room, SESSION};
use serde_json::{Value, json};

/// `action key version rev tokens` of each row about the context.
fn told(rows: &[Value]) -> Vec<String> {
    let context = rows.iter().filter(|row| row["action"].as_str().unwrap().starts_with("context."));
    let field = |row: &Value, name: &str| row["detail"].get(name).map_or_else(|| "-".to_owned(), Value::to_string);
    context
        .map(|row| {
            let parts = ["key", "version", "rev", "tokens"].map(|name| field(row, name).replace('"', ""));
            format!("{} {}", row["action"].as_str().unwrap(), parts.join(" "))
        })
        .collect()
}

#[tokio::test]
async fn every_change_leaves_one_row_and_no_refusal_or_look_does() {
    let room = Room::new(json!({})).await;
    let review = room.participant("subagent:review").await;
    room.as_(&review, json!({"action": "write", "key": "a", "value": "12345"})).await;
    room.write("a", "1").await;
    room.does(json!({"action": "write", "key": "short", "value": "12345678", "ttl_seconds": 9})).await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    room.world.clock.advance_s(9);
    room.does(json!({"action": "list_keys"})).await;
    room.delete("a").await;
    room.does(json!({"action": "restore_snapshot", "label": "s"})).await;
    for refused in [
        json!({"action": "write", "key": "a", "value": "x", "if_version": 7}),
        json!({"action": "write", "key": "A", "value": "x"}),
        json!({"action": "delete", "key": "never"}),
        json!({"action": "snapshot", "label": "s"}),
    ] {
        assert!(!room.try_as(&room.owner, refused).await.status.is_success());
    }
    for look in [json!({"action": "read", "key": "a"}), json!({"action": "read_history", "key": "a"})] {
        room.does(look).await;
    }
    let rows = room.audit().await;
    let expected = [
        "context.write a 1 1 2",
        "context.write a 2 2 1",
        "context.write short 1 3 2",
        "context.snapshot - - 3 3",
        "context.expire short 1 4 2",
        "context.delete a 2 5 1",
        "context.restore - - 6 1",
    ];
    assert_eq!(told(&rows), expected);
    let write = rows.iter().find(|row| row["action"] == "context.write").unwrap();
    assert_eq!((&write["participant"], &write["user"]), (&json!("subagent:review"), &json!("usr_owner")));
    assert_eq!(write["session"], SESSION);
    assert!(write["at"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn a_value_is_in_no_row_no_event_and_no_refusal() {
    let room = Room::new(json!({"max_value_tokens": 10, "max_store_tokens": 12, "acl": true})).await;
    let canary = "CANARY-7f3a";
    let events = format!("/sessions/{SESSION}/events");
    let mut stream = room.world.get(&events).by(&room.owner).stream().await;
    room.write("a", canary).await;
    room.write("a", &format!("{canary} again")).await;
    room.does(json!({"action": "snapshot", "label": "s"})).await;
    room.does(json!({"action": "write", "key": "t", "value": canary, "ttl_seconds": 5})).await;
    let refusals = [
        json!({"action": "write", "key": "a", "value": canary, "if_version": 1}),
        json!({"action": "write", "key": "a", "value": canary.repeat(10)}),
        json!({"action": "write", "key": "b", "value": canary.repeat(3)}),
        json!({"action": "write", "key": "B", "value": canary}),
        json!({"action": "write", "key": canary, "value": canary}),
        json!({"action": "write", "key": "a", "value": [canary]}),
        json!({"action": "write", "key": "a", "value": canary, "if_version": canary}),
        json!({"action": "write", "key": "a", "value": canary, "readable_by": [format!("{canary} x")]}),
        json!({"action": canary}),
        json!({"action": "snapshot", "label": format!("{canary}/")}),
        json!({"action": "read", "key": canary}),
        json!({"action": "diff", "from": canary, "to": "now"}),
    ];
    for request in refusals {
        let answer = room.try_as(&room.owner, request.clone()).await;
        assert!(answer.status.is_client_error(), "{request}");
        assert!(!answer.text.contains(canary), "{request}: {}", answer.text);
    }
    let broken = format!("{{\"action\": \"write\", \"key\": \"a\", \"value\": \"{canary}\"");
    let path = format!("/sessions/{SESSION}/shared_context");
    let ask = room.world.ask(axum::http::Method::POST, &path).by(&room.owner);
    let answer = ask.bytes("application/json", broken.into_bytes()).send().await;
    assert!(answer.status == 400 && !answer.text.contains(canary), "{}", answer.text);
    room.world.clock.advance_s(5);
    room.delete("a").await;
    room.does(json!({"action": "restore_snapshot", "label": "s"})).await;
    for event in stream.take(7).await {
        assert!(!event.data.to_string().contains(canary), "{event:?}");
    }
    let all = room.world.get("/admin/audit?limit=500").by(&room.owner).send().await;
    assert!(!all.text.contains(canary));
    let metrics = room.world.get("/metrics").by(&room.owner).send().await;
    assert!(metrics.status == 200 && !metrics.text.contains(canary));
}

#[tokio::test]
async fn the_chains_of_a_house_at_work_are_whole() {
    let room = Room::new(json!({})).await;
    let sean = room.world.member("sean").await;
    room.world.session(&sean, "other", json!({})).await;
    for n in 0..30 {
        room.write("a", &n.to_string()).await;
        room.world.write(&sean, "other", "a", &n.to_string()).await;
    }
    let verdict = room.world.post("/admin/audit/verify", &json!({})).by(&room.owner).send().await.ok();
    assert_eq!((&verdict["intact"], verdict.get("fault")), (&json!(true), None));
    assert!(verdict["rows"].as_u64().unwrap() > 60);
    room.world.post("/admin/audit/verify", &json!({})).by(&sean).send().await.refused(403, "FORBIDDEN");
}
