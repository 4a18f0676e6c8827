//! What a node says counts only of the call, the telling and the node that it was said to.

use super::Bench;
use serde_json::json;
use testkit::World;

#[tokio::test]
async fn what_was_not_accepted_has_no_result_and_what_was_accepted_once_is_accepted_again() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    bench.node.result(&call, &json!({"success": true})).await.refused(409, "CALL_MOVED_ON");
    for _ in 0..3 {
        // The first yes may have been lost.
        assert_eq!(bench.node.accept(&call).await.ok()["status"], "accepted");
    }
    let result = json!({"success": true, "content": "x"});
    for _ in 0..3 {
        assert_eq!(bench.node.result(&call, &result).await.ok()["status"], "completed");
    }
    bench.node.result(&call, &json!({"success": true, "content": "y"})).await.refused(409, "CALL_MOVED_ON");
    bench.node.accept(&call).await.refused(409, "CALL_MOVED_ON");
    assert_eq!(bench.call(&call).await["result"], result);
    let steps = bench.actions().await;
    assert_eq!(steps.iter().filter(|step| *step == "tool_call.accept").count(), 1);
    assert_eq!(steps.iter().filter(|step| *step == "tool_call.complete").count(), 1);
}

#[tokio::test]
async fn another_node_another_attempt_and_another_digest_are_not_heard() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    let other = world.hand_node(&bench.owner, "desk", "garden").await;
    other.accept(&call).await.refused(404, "TOOL_CALL_NOT_FOUND");
    other.get(&call).await.refused(404, "TOOL_CALL_NOT_FOUND");
    let say = |attempt: u64, digest: &str| json!({"attempt": attempt, "digest": digest});
    let digest = call["digest"].as_str().unwrap();
    bench.node.say(&call, "accept", &say(1, &"0".repeat(64))).await.refused(409, "DIGEST_MISMATCH");
    bench.node.say(&call, "accept", &say(2, digest)).await.refused(409, "CALL_MOVED_ON");
    bench.node.say(&call, "accept", &say(0, digest)).await.refused(409, "CALL_MOVED_ON");
    bench.node.accept(&call).await.ok();
    other.result(&call, &json!({"success": true})).await.refused(404, "TOOL_CALL_NOT_FOUND");
    let late = json!({"attempt": 0, "result": {"success": true}});
    bench.node.say(&call, "result", &late).await.refused(409, "CALL_MOVED_ON");
    assert_eq!(bench.call(&call).await["status"], "accepted");
}

#[tokio::test]
async fn a_node_may_refuse_break_off_and_not_know() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let refused = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    let why = json!({"attempt": 1, "status": "refused", "reason": {"code": "FORBIDDEN", "message": "read only"}});
    bench.node.say(&refused, "result", &why).await.ok();
    let ended = bench.call(&refused).await;
    assert_eq!((&ended["status"], &ended["reason"]["message"]), (&json!("refused"), &json!("read only")));
    let begun = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    bench.node.accept(&begun).await.ok();
    let started = json!({"attempt": 1, "digest": begun["digest"], "started": true});
    assert_eq!(bench.node.say(&begun, "accept", &started).await.ok()["status"], "running");
    bench.node.say(&begun, "result", &why).await.refused(409, "CALL_MOVED_ON");
    let broke = json!({"attempt": 1, "status": "failed", "result": {"success": false, "error": "disk"}});
    assert_eq!(bench.node.say(&begun, "result", &broke).await.ok()["status"], "failed");
    let lost = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    bench.node.say(&lost, "result", &json!({"attempt": 1, "status": "unknown"})).await.refused(409, "CALL_MOVED_ON");
    bench.node.accept(&lost).await.ok();
    let started = json!({"attempt": 1, "digest": lost["digest"], "started": true});
    bench.node.say(&lost, "accept", &started).await.ok();
    bench.node.say(&lost, "result", &json!({"attempt": 0, "status": "unknown"})).await.refused(409, "CALL_MOVED_ON");
    let unknown = json!({"attempt": 1, "status": "unknown"});
    assert_eq!(bench.node.say(&lost, "result", &unknown).await.ok()["status"], "unknown");
}

#[tokio::test]
async fn a_node_that_says_again_how_a_call_ended_gets_the_same_answer_and_one_that_says_another_end_does_not() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let refusal = json!({"code": "FORBIDDEN", "message": "read only"});
    let ends = [
        json!({"attempt": 1, "status": "refused", "reason": refusal}),
        json!({"attempt": 1, "status": "unknown"}),
        json!({"attempt": 1, "status": "failed", "result": {"success": false}}),
        json!({"attempt": 1, "status": "completed", "result": {"success": false}}),
    ];
    for end in &ends {
        let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
        if end["status"] != "refused" {
            bench.node.accept(&call).await.ok();
        }
        let first = bench.node.say(&call, "result", end).await.ok();
        assert_eq!(first["status"], end["status"]);
        assert_eq!(bench.node.say(&call, "result", end).await.ok(), first);
        let another_reason =
            json!({"attempt": 1, "status": "refused", "reason": {"code": "FORBIDDEN", "message": "no"}});
        for other in ends.iter().filter(|other| *other != end).chain([&another_reason]) {
            bench.node.say(&call, "result", other).await.refused(409, "CALL_MOVED_ON");
        }
        let mut older = end.clone();
        older["attempt"] = json!(0);
        bench.node.say(&call, "result", &older).await.refused(409, "CALL_MOVED_ON");
        let kept = bench.call(&call).await;
        for field in ["status", "attempt", "reason", "result", "ended_at"] {
            assert_eq!(kept[field], first[field], "{field}");
        }
    }
    let steps = bench.actions().await;
    for step in ["tool_call.refuse", "tool_call.unknown", "tool_call.fail", "tool_call.complete"] {
        assert_eq!(steps.iter().filter(|found| *found == step).count(), 1, "{step}");
    }
}

#[tokio::test]
async fn a_node_hears_of_what_it_is_to_do_and_of_nothing_else() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    world.session(&bench.owner, "plans", json!({})).await;
    let mut events = world.get("/my/events").by(&bench.node.token).stream().await;
    world.write(&bench.owner, "plans", "canary", "x").await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    loop {
        let event = events.next().await.expect("an event");
        let data = &event.data;
        assert_eq!(data["node"], bench.node.node["id"], "{}", event.kind);
        if event.kind == "TOOL_EXECUTION_SIGNAL" {
            assert_eq!((&data["call"], &data["attempt"]), (&call["id"], &json!(1)));
            return;
        }
    }
}

#[tokio::test]
async fn what_a_node_says_in_a_code_of_its_own_keeps_its_meaning() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    let refused = |code: &str| json!({"attempt": 1, "status": "refused", "reason": {"code": code, "message": "no"}});
    for bad in ["", "no code", "A\nB", &"A".repeat(65)] {
        bench.node.say(&call, "result", &refused(bad)).await.refused(400, "INVALID_REQUEST");
    }
    bench.node.say(&call, "result", &refused("LINK_REFUSED")).await.ok();
    let reason = bench.call(&call).await["reason"].clone();
    assert_eq!((&reason["code"], &reason["message"]), (&json!("NODE_REFUSED"), &json!("LINK_REFUSED: no")));
    let call = bench.execute("tool_delete_file", json!({"path": "a"})).await.ok();
    let preview = json!({"refusal": {"code": "FILE_NOT_FOUND", "message": "no such file"}});
    let call = bench.node.preview(&call, &preview).await.ok();
    assert_eq!((&call["status"], &call["reason"]["code"]), (&json!("invalid"), &json!("NODE_REFUSED")));
    assert_eq!(call["reason"]["message"], "FILE_NOT_FOUND: no such file");
}

#[tokio::test]
async fn nobody_is_asked_about_what_the_machine_has_ruled_out() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let message = "this node was started with --read-only";
    let refusal = json!({"refusal": {"code": "FORBIDDEN", "message": message}});
    let call = bench.execute("tool_write_file", json!({"path": "a", "content": "x"})).await.ok();
    let call = bench.node.preview(&call, &refusal).await.ok();
    assert_eq!((&call["status"], &call["reason"]["code"]), (&json!("denied"), &json!("FORBIDDEN")));
    assert_eq!((&call["reason"]["message"], &call["approval_id"]), (&json!(message), &json!(null)));
    let inbox = world.get("/my/approvals").by(&bench.owner).send().await.ok();
    assert_eq!(inbox["items"], json!([]));
}
