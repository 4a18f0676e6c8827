//! Senders that wait, ask again, or go away.

use super::Talk;
use serde_json::json;
use testkit::Turn;

#[tokio::test]
async fn who_waits_too_briefly_hears_later() {
    let talk = Talk::new().await;
    talk.provider.block();
    let body = json!({"content": "slowly", "target_agent": "agent_coder", "wait_s": 0.05, "idempotency_key": "one"});
    let early = talk.say(body.clone()).await;
    assert_eq!(early.status, 202, "{}", early.text);
    let task = early.json()["task_id"].as_str().unwrap().to_owned();
    talk.provider.until_in_flight(1).await;
    talk.provider.script(vec![]);
    let (_, late) = tokio::join!(async { talk.provider.release() }, talk.ended(&task));
    assert_eq!(late["status"], "completed");
    // The same bytes again wait for the same task.
    let again = talk.say(body).await;
    assert_eq!(again.status, 200, "{}", again.text);
    assert_eq!(again.json()["reply"]["content"], "You said: slowly");
    assert_eq!((again.json()["task_id"].as_str(), talk.provider.requests().len()), (Some(task.as_str()), 1));
    assert_eq!(talk.history().await.len(), 2);
}

#[tokio::test]
async fn twins_are_one_message_and_hear_the_same_answer() {
    let talk = Talk::new().await;
    talk.provider.block();
    talk.provider.script(vec![Turn::say("Once.")]);
    let body = json!({"content": "once", "target_agent": "agent_coder", "wait_s": 30, "idempotency_key": "twin"});
    let asks: Vec<_> = (0..20).map(|_| tokio::spawn(talk.asking("s", &body).send())).collect();
    talk.provider.until_in_flight(1).await;
    talk.provider.release();
    let mut answers = Vec::new();
    for ask in asks {
        let answer = ask.await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text);
        answers.push(answer.json());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0]["reply"]["content"], "Once.");
    assert_eq!((talk.provider.requests().len(), talk.history().await.len()), (1, 2));
    let other = json!({"content": "other", "target_agent": "agent_coder", "wait_s": 30, "idempotency_key": "twin"});
    talk.say(other).await.refused(422, "IDEMPOTENCY_MISMATCH");
}

#[tokio::test]
async fn who_goes_away_after_sending_is_answered_all_the_same() {
    let talk = Talk::new().await.with_room().await;
    talk.provider.block();
    for number in 0..20 {
        let body = json!({"content": format!("gone {number}"), "target_agent": "agent_coder", "wait_s": 30});
        let sending = tokio::spawn(talk.asking("s", &body).send());
        // Some leave before it is on disk, some after: either it is all there, or nothing of it.
        for _ in 0..number * 3 {
            tokio::task::yield_now().await;
        }
        sending.abort();
        drop(sending.await);
    }
    talk.provider.release();
    let last = talk.ask("the last").await;
    assert_eq!(last["status"], "completed");
    let asked: Vec<_> = talk.history().await.into_iter().filter(|message| message["role"] == "user").collect();
    for message in &asked {
        assert_eq!(talk.ended(message["task_id"].as_str().unwrap()).await["status"], "completed");
    }
    talk.quiet().await;
    assert_eq!(talk.history().await.len(), asked.len() * 2);
    assert_eq!(talk.provider.requests().len(), asked.len());
}

#[tokio::test]
async fn how_long_somebody_waits_is_no_part_of_what_they_want() {
    let talk = Talk::new().await;
    let body = |wait_s: u64| json!({"content": "once", "target_agent": "agent_coder", "wait_s": wait_s, "idempotency_key": "key"});
    let first = talk.say(body(0)).await.ok();
    let again = talk.say(body(30)).await.ok();
    assert_eq!((&again["task_id"], &again["status"]), (&first["task_id"], &json!("completed")));
    let two_keys = talk.asking("s", &body(0)).header("idempotency-key", "another").send().await;
    two_keys.refused(400, "INVALID_REQUEST");
}
