//! Time: no state of a call lasts for ever, and a restart forgets none.

use super::Bench;
use serde_json::{Value, json};
use service::tool_calls::end_overdue_calls_once;
use testkit::World;

/// The status and the reason of a call after so many seconds.
async fn after(world: &World, bench: &Bench<'_>, call: &Value, seconds: i64) -> (String, String) {
    world.clock.advance_s(seconds);
    end_overdue_calls_once(&world.house).await.unwrap();
    let owner = world.owner().await;
    let path = format!("/my/projects/garden/tools/{}", call["id"].as_str().unwrap());
    let call = world.get(&path).by(&owner).send().await.ok();
    let _ = bench;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&call["status"]), text(&call["reason"]["code"]))
}

fn is(status: &str, code: &str) -> (String, String) {
    (status.to_owned(), code.to_owned())
}

#[tokio::test]
async fn a_preview_that_does_not_come_is_not_waited_for() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_write_file", json!({"path": "a", "content": "x"})).await.ok();
    assert_eq!(after(&world, &bench, &call, 1).await, is("proposed", ""));
    assert_eq!(after(&world, &bench, &call, 1).await, is("waiting_approval", ""));
    // It comes too late.
    bench.node.preview(&call, &json!({"exists": false})).await.refused(409, "CALL_MOVED_ON");
}

#[tokio::test]
async fn what_nobody_decides_expires_and_can_no_longer_be_approved() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    assert_eq!(after(&world, &bench, &call, 299).await, is("waiting_approval", ""));
    world.clock.advance_s(1);
    // Before anybody has looked at the clock.
    bench.answer(&bench.owner, &call, "approve", &json!({})).await.refused(410, "EXPIRED");
    assert_eq!(after(&world, &bench, &call, 0).await, is("expired", "EXPIRED"));
    bench.answer(&bench.owner, &call, "approve", &json!({})).await.refused(409, "ALREADY_DECIDED");
    let list = world.get("/my/approvals?status=expired").by(&bench.owner).send().await.ok();
    assert_eq!(list["items"][0]["tool_call_id"], call["id"]);
}

#[tokio::test]
async fn a_node_that_stays_away_is_given_up_and_what_it_accepts_then_is_refused() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    assert_eq!(call["status"], "dispatched");
    for _ in 0..9 {
        assert_eq!(after(&world, &bench, &call, 30).await, is("dispatched", ""));
    }
    assert_eq!(after(&world, &bench, &call, 30).await, is("undelivered", "NODE_OFFLINE"));
    bench.node.accept(&call).await.refused(409, "CALL_MOVED_ON");
    let never = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    assert_eq!(never["status"], "dispatched", "by asking it has come back");
}

#[tokio::test]
async fn a_node_that_is_there_and_never_accepts_is_given_up_too() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    let mut waited_s = 0;
    while after(&world, &bench, &call, 30).await == is("dispatched", "") {
        bench.node.open().await;
        waited_s += 30;
        assert!(waited_s < 1_800, "it lies for ever");
    }
    assert!(waited_s >= 600, "{waited_s}");
    bench.node.accept(&call).await.refused(409, "CALL_MOVED_ON");
}

#[tokio::test]
async fn what_was_accepted_and_never_ended_is_unknown_and_a_late_result_is_refused() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    bench.node.accept(&call).await.ok();
    assert_eq!(after(&world, &bench, &call, 89).await, is("accepted", ""));
    assert_eq!(after(&world, &bench, &call, 1).await, is("unknown", "INTERRUPTED"));
    bench.node.result(&call, &json!({"success": true})).await.refused(409, "CALL_MOVED_ON");
}

#[tokio::test]
async fn an_approval_that_waits_when_the_house_stops_waits_when_it_is_back() {
    let world = World::new().await;
    let (call, token, project) = {
        let bench = Bench::new(&world).await;
        let call = bench.waiting_write("a").await;
        (call, bench.node.token.clone(), bench.node.node["project"].as_str().unwrap().to_owned())
    };
    let world = world.reopened().await;
    let owner = world.owner().await;
    let inbox = world.get("/my/approvals?status=pending").by(&owner).send().await.ok();
    let asked = &inbox["items"][0];
    assert_eq!((&asked["id"], &asked["digest"]), (&call["approval_id"], &call["digest"]));
    assert_eq!(asked["expires_at"], call["expires_at"]);
    let path = format!("/my/projects/garden/approvals/{}/approve", asked["id"].as_str().unwrap());
    world.post(&path, &json!({"digest": call["digest"]})).by(&owner).send().await.ok();
    let open = world.get(&format!("/my/projects/{project}/tools")).by(&token).send().await.ok();
    assert_eq!((&open["items"][0]["id"], &open["items"][0]["status"]), (&call["id"], &json!("dispatched")));
}

#[tokio::test]
async fn what_has_ended_is_kept_for_a_season_and_what_waits_for_as_long_as_it_waits() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    bench.answer(&bench.owner, &call, "reject", &json!({})).await.ok();
    let days = |days: i64| world.clock.advance_s(days * 24 * 3600);
    let purge = async || service::housekeeping::purge_once(&world.house, "a test").await.unwrap();
    let sign_in = || world.owner();
    days(89);
    assert!(purge().await);
    let path = format!("/my/projects/garden/tools/{}", call["id"].as_str().unwrap());
    world.get(&path).by(&sign_in().await).send().await.ok();
    days(2);
    assert!(purge().await);
    world.get(&path).by(&sign_in().await).send().await.refused(404, "TOOL_CALL_NOT_FOUND");
    let approval = format!("/my/approvals/{}", call["approval_id"].as_str().unwrap());
    world.get(&approval).by(&sign_in().await).send().await.refused(404, "APPROVAL_NOT_FOUND");
}
