//! A house that stops in the middle, and turns that fall over.

use super::{Talk, until};
use serde_json::json;

#[tokio::test]
async fn after_a_restart_what_was_queued_runs_and_what_ran_is_interrupted() {
    let talk = Talk::new().await.with_room().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 2})).await;
    talk.provider.block();
    let mut tasks = Vec::new();
    for number in 0..12 {
        tasks.push(talk.leave("agent_coder", &format!("marker-{number:02}")).await);
    }
    talk.provider.until_in_flight(2).await;
    let talk = talk.reopened().await;
    talk.provider.release();
    for (number, task) in tasks.iter().enumerate() {
        let task = talk.ended(task).await;
        if number < 2 {
            assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!("INTERRUPTED")), "{task}");
            assert!(task["error"]["message"].as_str().unwrap().contains("interrupted"));
        } else {
            assert_eq!(task["status"], "completed", "{task}");
        }
    }
    for number in 0..12 {
        let marker = format!("marker-{number:02}");
        let asked = talk.provider.requests().iter().filter(|request| request.last_user_text() == marker).count();
        assert_eq!(asked, 1, "{marker}");
    }
    let history = talk.history().await;
    assert_eq!(history.len(), 24);
    assert_eq!(history.iter().filter(|message| message["error"]["code"] == "INTERRUPTED").count(), 2);
    talk.spent().await;
}

#[tokio::test]
async fn a_turn_that_falls_over_harms_nobody_else() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    let task = talk.leave("agent_coder", "fall over").await;
    talk.provider.until_in_flight(1).await;
    let next = talk.leave("agent_coder", "stand").await;
    // Nobody but the turn looks at the clock now.
    talk.world.clock.trip();
    talk.provider.release();
    talk.provider.until_asked(2).await;
    let mut events = talk.project_events().await;
    until(&mut events, |event| event.kind == "ALERT" && event.data["alert"] == "worker_crashed").await;
    let fallen = talk.ended(&task).await;
    assert_eq!((&fallen["status"], &fallen["error"]["code"]), (&json!("failed"), &json!("INTERRUPTED")), "{fallen}");
    assert_eq!(talk.ended(&next).await["status"], "completed");
    let space = talk.space().await;
    assert_eq!(space["reasons"], json!(["a worker ended with a fault of the house"]), "{space}");
    assert_eq!((&space["status"], &space["health"]), (&json!("degraded"), &json!("degraded")));
    // What was set aside for it is given up like that of a process that died.
    talk.world.clock.advance_s(16 * 60);
    service::budgets::end_overdue_calls_once(&talk.world.house).await.unwrap();
    assert!(talk.spent().await > 100 * 30 + 20 * 60);
    assert_eq!(talk.ask("and later?").await["status"], "completed");
    assert_eq!(talk.space().await["status"], "ready", "after five minutes it is forgotten");
}
