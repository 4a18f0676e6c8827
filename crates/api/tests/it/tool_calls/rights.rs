//! Rights that go while a call is on its way: what has not begun is ended, whoever said yes.

use super::Bench;
use serde_json::{Value, json};
use service::tool_calls::reconsider;
use testkit::{HandNode, World};

async fn allow(world: &World, by: &str, workspace: &str, tools: &[&str]) {
    let path = format!("/admin/workspaces/{workspace}");
    world.patch(&path, &json!({"tools": {"allow": tools}})).by(by).send().await.ok();
}

/// The status and the code of the reason.
fn end(call: &Value) -> (&str, &str) {
    (call["status"].as_str().unwrap(), call["reason"]["code"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn what_the_rules_no_longer_allow_is_not_asked_about_any_more() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let (call, kept) = (bench.waiting_write("a").await, bench.waiting_write("b").await);
    reconsider(&world.house).await.unwrap();
    assert_eq!(bench.call(&call).await["status"], "waiting_approval");

    allow(&world, &bench.owner, "personal-usr_owner", &["filesystem.read"]).await;
    reconsider(&world.house).await.unwrap();
    assert_eq!(end(&bench.call(&call).await), ("cancelled", "FORBIDDEN"));
    let refusal = bench.answer(&bench.owner, &call, "approve", &json!({})).await.refused(409, "ALREADY_DECIDED");
    assert_eq!(refusal["status"], "cancelled");
    let pending = world.get("/my/approvals?status=pending").by(&bench.owner).send().await.ok();
    assert_eq!(pending["items"], json!([]));
    assert_eq!(bench.call(&kept).await["status"], "cancelled");
    assert_eq!(bench.actions().await.iter().filter(|action| *action == "tool_call.cancel").count(), 2);
}

#[tokio::test]
async fn a_node_that_asks_whether_to_begin_is_told_what_the_rules_say_then() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.waiting_write("a").await;
    bench.approve(&call).await;
    let call = bench.node.get(&call).await.ok();
    assert_eq!(call["status"], "dispatched");
    allow(&world, &bench.owner, "personal-usr_owner", &["filesystem.read"]).await;
    // Nobody has looked at what waits; the node is faster.
    let refusal = bench.node.accept(&call).await.refused(409, "CALL_MOVED_ON");
    assert_eq!(refusal["status"], "cancelled");
    assert_eq!(end(&bench.call(&call).await), ("cancelled", "FORBIDDEN"));
    bench.node.result(&call, &json!({"success": true})).await.refused(409, "CALL_MOVED_ON");
}

#[tokio::test]
async fn what_runs_already_comes_to_its_own_end() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    let call = bench.execute("tool_read_file", json!({"path": "a"})).await.ok();
    bench.node.accept(&call).await.ok();
    allow(&world, &bench.owner, "personal-usr_owner", &["filesystem.list"]).await;
    reconsider(&world.house).await.unwrap();
    assert_eq!(bench.call(&call).await["status"], "accepted");
    bench.node.accept(&call).await.ok();
    bench.node.result(&call, &json!({"success": true})).await.ok();
    assert_eq!(bench.call(&call).await["status"], "completed");
}

#[tokio::test]
async fn an_answer_that_was_to_stand_for_later_is_asked_for_again_before_a_node_is_told() {
    let world = World::new().await;
    let bench = Bench::new(&world).await;
    // A change would be asked about again while its machine is away: nobody knows what is there now.
    let list = json!({"program": "ls", "args": []});
    let call = bench.execute("tool_execute_command", list.clone()).await.ok();
    let call = bench.node.preview(&call, &json!({"program": "/usr/bin/ls"})).await.ok();
    let soon = serde_json::to_value(world.house.now().plus_seconds(3600)).unwrap();
    let remember = json!({"remember": {"kind": "call", "for": soon}});
    bench.answer(&bench.owner, &call, "approve", &remember).await.ok();
    // The machine is away: what the rule allows waits for it.
    world.clock.advance_s(200);
    let later = bench.execute("tool_execute_command", list).await.ok();
    assert_eq!(later["status"], "approved");
    let rules = world.get("/my/standing-rules").by(&bench.owner).send().await.ok();
    let rule = format!("/my/standing-rules/{}", rules["items"][0]["id"].as_str().unwrap());
    assert_eq!(world.delete(&rule).by(&bench.owner).send().await.status, 204);
    let open = bench.node.open().await;
    assert!(open.iter().all(|open| open["id"] != later["id"]), "{open:?}");
    assert_eq!(end(&bench.call(&later).await), ("denied", "FORBIDDEN"));
}

/// A call of mary's on a machine of the workspace `den`, which lists it.
pub(super) async fn on_a_shared_machine(world: &World) -> (String, String, Value) {
    let (owner, mary) = (world.owner().await, world.member("mary").await);
    world.workspace("den", &["owner", "mary"]).await;
    let settings = json!({"nodes": ["shed"], "tools": {"allow": ["filesystem.*"]}});
    world.patch("/admin/workspaces/den", &settings).by(&owner).send().await.ok();
    world.post("/my/projects", &json!({"name": "shared", "workspace": "den"})).by(&mary).send().await.ok();
    let node: HandNode<'_> = world.hand_node_for(&owner, "shed", "den").await;
    let body = json!({"agent": "agent_coder", "tool": "tool_write_file", "params": {"path": "a", "content": "x"}});
    let call = world.post("/my/projects/shared/tools/execute", &body).by(&mary).send().await.ok();
    let call = node.preview(&call, &json!({"exists": false})).await.ok();
    assert_eq!(call["status"], "waiting_approval", "{call}");
    (owner, mary, call)
}

#[tokio::test]
async fn whoever_leaves_takes_their_calls_along() {
    let world = World::new().await;
    let (owner, mary, call) = on_a_shared_machine(&world).await;
    world.leave("den", "mary").await;
    reconsider(&world.house).await.unwrap();
    let rows = world.get("/admin/audit?workspace=den&limit=500").by(&owner).send().await.ok();
    let ended = rows["items"].as_array().unwrap().iter().find(|row| row["action"] == "tool_call.cancel");
    assert_eq!(ended.unwrap()["detail"]["call"], call["id"]);
    let pending = world.get("/my/approvals?status=pending").by(&mary).send().await.ok();
    assert_eq!(pending["items"], json!([]));
}

#[tokio::test]
async fn a_machine_that_its_workspace_lists_no_longer_serves_nobody() {
    let world = World::new().await;
    let (owner, mary, call) = on_a_shared_machine(&world).await;
    world.patch("/admin/workspaces/den", &json!({"nodes": []})).by(&owner).send().await.ok();
    reconsider(&world.house).await.unwrap();
    let path = format!("/my/projects/shared/tools/{}", call["id"].as_str().unwrap());
    let call = world.get(&path).by(&mary).send().await.ok();
    assert_eq!(end(&call), ("cancelled", "NODE_NOT_FOUND"));
    let body = json!({"agent": "agent_coder", "tool": "tool_read_file", "params": {"path": "a"}});
    world.post("/my/projects/shared/tools/execute", &body).by(&mary).send().await.refused(404, "NODE_NOT_FOUND");
}
