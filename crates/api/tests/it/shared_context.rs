//! Working memory that several participants share.

use serde_json::json;
use testkit::World;

#[tokio::test]
async fn two_participants_see_each_others_writes_under_their_own_names() {
    let world = World::new().await;
    let owner = world.owner().await;
    world.session(&owner, "ticket-42", json!({})).await;
    let orchestrator = world.participant(&owner, "ticket-42", "orchestrator").await;
    let analysis = world.participant(&owner, "ticket-42", "subagent:analysis").await;

    world.write(&orchestrator, "ticket-42", "problem_summary", "Throughput dropped.").await;
    let read =
        world.context(&analysis, "ticket-42", &json!({"action": "read", "key": "problem_summary"})).send().await.ok();
    assert_eq!(read["value"], "Throughput dropped.");
    assert_eq!(read["written_by"], "orchestrator");
    assert_eq!((read["version"].as_u64(), read["rev"].as_u64()), (Some(1), Some(1)));

    let written = world.write(&analysis, "ticket-42", "problem_summary", "Pool too small.").await;
    assert_eq!((&written["version"], &written["written_by"]), (&json!(2), &json!("subagent:analysis")));
}
