//! Tasks that somebody ends: queued or running, once, whoever else is at it at that moment.

use super::{ENDS, Talk, until};
use serde_json::{Value, json};
use testkit::{Fault, Random, StreamEvent, Turn};

fn ends_of(events: &[StreamEvent], task: &str) -> Vec<String> {
    let about = events.iter().filter(|event| event.data["task"] == *task && ENDS.contains(&event.kind.as_str()));
    about.map(|event| event.kind.clone()).collect()
}

#[tokio::test]
async fn a_queued_task_is_cancelled_and_never_asked_about() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    let first = talk.leave("agent_coder", "first").await;
    talk.provider.until_in_flight(1).await;
    let second = talk.leave("agent_coder", "second").await;
    let cancelled = talk.cancelling(&second).send().await.ok();
    assert_eq!((&cancelled["status"], &cancelled["error"]["code"]), (&json!("cancelled"), &json!("CANCELLED")));
    let details = talk.cancelling(&second).send().await.refused(409, "TASK_ENDED");
    assert_eq!(details["status"], "cancelled");
    talk.provider.release();
    talk.ended(&first).await;
    talk.cancelling(&first).send().await.refused(409, "TASK_ENDED");
    assert_eq!(talk.provider.requests().len(), 1);
}

#[tokio::test]
async fn a_running_task_hangs_up_and_its_money_is_settled() {
    let talk = Talk::new().await;
    talk.provider.block();
    let task = talk.leave("agent_coder", "think long").await;
    talk.provider.until_in_flight(1).await;
    talk.cancelling(&task).send().await.ok();
    talk.provider.until_hung_up(1).await;
    assert!(talk.spent().await > 0, "nobody knows what it cost: what was set aside counts");
    let waited = talk.task(&task).await;
    assert_eq!(waited["error"]["message"], "cancelled by usr_owner");
    assert!(waited["deadline_at"].is_null() && !waited["ended_at"].is_null(), "{waited}");
    talk.provider.release();
    assert_eq!(talk.ask("and now?").await["status"], "completed");
    let told = talk.provider.requests().pop().unwrap();
    assert!(told.messages().iter().any(|message| message.to_string().contains("think long")), "{:?}", told.messages());
}

#[tokio::test]
async fn what_was_shown_of_a_cancelled_answer_stays_in_history_with_the_reason() {
    let talk = Talk::new().await;
    let words = "These words are shown before it hangs. ".repeat(8);
    talk.provider.script(vec![Turn::say(&words).with(Fault::HangAfter(4_000))]);
    let mut events = talk.events("s").await;
    let task = talk.leave("agent_coder", "tell me").await;
    until(&mut events, |event| event.kind == "MESSAGE_DELTA").await;
    talk.cancelling(&task).send().await.ok();
    talk.provider.until_hung_up(1).await;
    talk.quiet().await;
    let history = talk.history().await;
    assert_eq!(history.len(), 2, "{history:?}");
    let kept = history[1]["content"].as_str().unwrap();
    assert!(!kept.is_empty() && words.starts_with(kept), "{kept}");
    assert_eq!(history[1]["error"]["code"], "CANCELLED");
    assert_eq!(history[1]["in_reply_to"], history[0]["id"]);
    talk.spent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_and_completing_at_once_have_one_winner() {
    let talk = Talk::new().await;
    let mut chance = Random::new(4);
    let (mut completed, mut cancelled) = (0, 0);
    // Whoever lost gets a little more time, so that both are close to winning.
    let mut span = 256;
    for round in 0..60 {
        let session = format!("r{round}");
        talk.session(&session).await;
        talk.provider.block();
        // Half of them use a tool first, so that the end of a step is raced for too.
        let write = json!({"action": "write", "key": "k", "value": "v"});
        let first = (round % 2 == 0).then(|| Turn::call("shared_context", write).with(Fault::NoUsage));
        talk.provider.script(first.into_iter().chain([Turn::say("The whole answer.")]).collect());
        let task = talk.leave_in(&session, "agent_coder", "race").await;
        talk.provider.until_in_flight(1).await;
        talk.provider.release();
        // Some cancel while the model is asked, some when it has answered.
        if chance.once_in(2) {
            talk.provider.until_in_flight(0).await;
        }
        for _ in 0..chance.below(span) {
            tokio::task::yield_now().await;
        }
        let status = talk.cancelling(&task).send().await.status.as_u16();
        let ended = talk.ended(&task).await;
        talk.quiet().await;
        let won = ended["status"].as_str().unwrap();
        assert_eq!(status, if won == "cancelled" { 200 } else { 409 }, "{ended}");
        agree(&talk, &session, &task, won).await;
        completed += usize::from(won == "completed");
        cancelled += usize::from(won == "cancelled");
        span = if won == "completed" { (span / 2).max(8) } else { (span * 2).min(1 << 22) };
        // What a lost race left of the script is not the next round's.
        while talk.provider.unsaid() > 0 {
            talk.session(&format!("rest{round}")).await;
            talk.asking(
                &format!("rest{round}"),
                &json!({"content": "x", "target_agent": "agent_writer", "wait_s": 30}),
            )
            .send()
            .await
            .ok();
        }
    }
    assert!(completed > 3 && cancelled > 3, "both happen: {completed} and {cancelled}");
    talk.spent().await;
}

/// Row, history and events say the same.
async fn agree(talk: &Talk, session: &str, task: &str, won: &str) {
    talk.leave_in(session, "agent_writer", "the last").await;
    talk.quiet().await;
    let mut events = talk.events(session).await;
    let seen = until(&mut events, |event| ENDS.contains(&event.kind.as_str()) && event.data["task"] != *task).await;
    assert_eq!(ends_of(&seen, task), [format!("TASK_{}", won.to_uppercase())]);
    let history = talk.history_of(session).await;
    let of_task: Vec<&Value> = history.iter().filter(|message| message["task_id"] == *task).collect();
    let answers = of_task.iter().filter(|message| message["content"] == "The whole answer.");
    if won == "completed" {
        assert_eq!(answers.count(), 1, "{history:?}");
        assert!(of_task.iter().all(|message| message["error"].is_null()), "{history:?}");
    } else {
        assert!(answers.into_iter().all(|message| message["error"]["code"] == "CANCELLED"), "{history:?}");
    }
}

#[tokio::test]
async fn a_session_that_is_archived_or_deleted_takes_its_tasks_along() {
    let talk = Talk::new().await;
    for (session, archives) in [("old", true), ("gone", false)] {
        talk.session(session).await;
        talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
        talk.provider.block();
        let (asked, hung_up) = (talk.provider.requests().len(), talk.provider.hung_up());
        let running = talk.leave_in(session, "agent_coder", "first").await;
        talk.provider.until_asked(asked + 1).await;
        let queued = talk.leave_in(session, "agent_coder", "second").await;
        if archives {
            talk.world.post(&format!("/sessions/{session}/archive"), &json!({})).by(&talk.owner).send().await.ok();
        } else {
            talk.world.delete(&format!("/sessions/{session}")).by(&talk.owner).send().await.ok();
        }
        talk.provider.until_hung_up(hung_up + 1).await;
        talk.quiet().await;
        for task in [&running, &queued] {
            let answer = talk.cancelling(task).send().await;
            if archives {
                answer.refused(409, "TASK_ENDED");
                assert_eq!(talk.task(task).await["error"]["message"], "cancelled: its session was archived");
            } else {
                answer.refused(404, "TASK_NOT_FOUND");
            }
        }
        let late = talk.asking(session, &json!({"content": "x", "target_agent": "agent_coder"})).send().await;
        let (status, code) = if archives { (409, "SESSION_ARCHIVED") } else { (404, "SESSION_NOT_FOUND") };
        late.refused(status, code);
        talk.provider.release();
        assert_eq!(talk.ask("still there?").await["status"], "completed");
    }
    talk.spent().await;
}
