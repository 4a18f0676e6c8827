//! Queues: how much waits for an agent, and what becomes of what is too much.

use super::{Talk, until};
use domain::rules::{HouseRules, WorkerSpaceRules};
use serde_json::json;

impl Talk {
    /// One task runs and so many wait.
    async fn crowded(&self, queued: usize) {
        self.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
        self.provider.block();
        self.leave("agent_coder", "the first runs").await;
        self.provider.until_in_flight(1).await;
        for number in 0..queued {
            self.leave("agent_coder", &format!("question {number}")).await;
        }
    }
}

#[tokio::test]
async fn a_hundred_wait_and_the_next_is_told_to_come_back() {
    let talk = Talk::new().await.with_room().await;
    talk.crowded(100).await;
    let body = json!({"content": "one too many", "target_agent": "agent_coder", "idempotency_key": "again"});
    let answer = talk.say(body.clone()).await;
    assert_eq!(answer.header("retry-after"), "1");
    let details = answer.refused(503, "QUEUE_FULL");
    assert_eq!(details["retry_after_ms"], 1000, "{details}");
    assert_eq!(talk.history().await.len(), 101, "nothing of it was kept");
    assert_eq!(talk.space().await["health"], "unhealthy");
    // Another agent of the project has a queue of its own.
    talk.leave("agent_writer", "a word").await;
    talk.provider.until_in_flight(2).await;
    let waiting = talk.tasks("queued").await;
    assert_eq!(waiting.len(), 100);
    talk.cancelling(waiting[0]["id"].as_str().unwrap()).send().await.ok();
    let sent = talk.say(body.clone()).await;
    assert_eq!(sent.status, 202, "the key was not used up by the refusal: {}", sent.text);
    let again = talk.say(body).await.ok();
    assert_eq!(again, sent.json(), "and now it is");
    talk.say(json!({"content": "still too many", "target_agent": "agent_coder"})).await.refused(503, "QUEUE_FULL");
    talk.provider.release();
    let last = talk.ended(again["task_id"].as_str().unwrap()).await;
    assert_eq!(last["status"], "completed");
    talk.quiet().await;
    assert_eq!(talk.tasks("completed").await.len(), 102);
    talk.spent().await;
}

#[tokio::test]
async fn the_length_of_a_queue_is_what_the_file_says() {
    let talk = Talk::new().await;
    let worker_space = WorkerSpaceRules { queue_size: 3, ..WorkerSpaceRules::default() };
    talk.rule(HouseRules { worker_space, ..HouseRules::default() }).await;
    talk.crowded(3).await;
    talk.say(json!({"content": "x", "target_agent": "agent_coder"})).await.refused(503, "QUEUE_FULL");
    talk.rule(HouseRules::default()).await;
    talk.leave("agent_coder", "now there is room").await;
}

#[tokio::test]
async fn a_queue_that_is_nearly_full_is_told_of_once() {
    let talk = Talk::new().await;
    let worker_space = WorkerSpaceRules { queue_size: 10, ..WorkerSpaceRules::default() };
    talk.rule(HouseRules { worker_space, ..HouseRules::default() }).await;
    talk.crowded(7).await;
    assert_eq!(talk.space().await["health"], "healthy");
    let mut events = talk.project_events().await;
    let id = talk.leave("agent_coder", "the eighth").await;
    let seen = until(&mut events, |event| event.kind == "ALERT").await;
    let alert = &seen.last().unwrap().data;
    assert_eq!(alert["alert"], "queue_nearly_full", "{alert}");
    for number in 9..=10 {
        talk.leave("agent_coder", &format!("the {number}th")).await;
    }
    talk.say(json!({"content": "x", "target_agent": "agent_coder"})).await.refused(503, "QUEUE_FULL");
    talk.provider.release();
    let last = talk.ended(&id).await;
    assert_eq!(last["status"], "completed");
    talk.quiet().await;
    // Whatever was told has been by now: a cancelled task comes after it on the same streams.
    talk.provider.block();
    let marker = talk.leave("agent_coder", "the marker").await;
    let rest = until(&mut events, |event| event.kind == "TASK_QUEUED" && event.data["task"] == *marker).await;
    assert!(rest.iter().all(|event| event.kind != "ALERT"), "{rest:?}");
    // After five minutes the same is news again.
    talk.world.clock.advance_s(301);
    for number in 0..8 {
        talk.leave("agent_coder", &format!("later {number}")).await;
    }
    until(&mut events, |event| event.kind == "ALERT").await;
}
