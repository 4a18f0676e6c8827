//! How many tasks of an agent run at once, and in which order.

use super::Talk;
use serde_json::json;

#[tokio::test]
async fn an_agent_never_has_more_calls_in_flight_than_its_limit() {
    let talk = Talk::new().await;
    talk.provider.block();
    for session in ["t", "u"] {
        talk.session(session).await;
    }
    let limits = [("one", 1), ("three", 3), ("ten", 10)];
    let mut tasks = Vec::new();
    for (name, limit) in limits {
        let prompt = format!("marker-{name}");
        talk.agent(name, json!({"concurrency_limit": limit, "system_prompt": prompt})).await;
    }
    for number in 0..15 {
        for (name, _) in limits {
            tasks.push(talk.leave_in(["s", "t", "u"][number % 3], name, &format!("question {number}")).await);
        }
    }
    talk.provider.until_in_flight(14).await;
    for (name, limit) in limits {
        assert_eq!(talk.provider.in_flight_of(&format!("marker-{name}")), limit, "{name}");
    }
    let metrics = talk.space().await["metrics"].clone();
    assert_eq!((&metrics["running_tasks"], &metrics["queued_tasks"]), (&json!(14), &json!(31)), "{metrics}");
    talk.provider.release();
    for task in &tasks {
        assert_eq!(talk.ended(task).await["status"], "completed");
    }
    for (name, limit) in limits {
        assert_eq!(talk.provider.most_in_flight_of(&format!("marker-{name}")), limit, "{name}");
    }
    assert_eq!(talk.provider.requests().len(), 45, "each is asked once");
    talk.spent().await;
}

#[tokio::test]
async fn a_lowered_limit_holds_for_the_next_start() {
    let talk = Talk::new().await;
    talk.provider.block();
    let mut tasks = Vec::new();
    for number in 0..9 {
        tasks.push(talk.leave("agent_coder", &format!("question {number}")).await);
    }
    talk.provider.until_in_flight(3).await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    for task in &tasks[..3] {
        talk.cancelling(task).send().await.ok();
    }
    talk.provider.until_hung_up(3).await;
    talk.provider.until_in_flight(1).await;
    talk.quiet_but(1).await;
    assert_eq!((talk.tasks("running").await.len(), talk.provider.in_flight()), (1, 1));
    talk.provider.release();
    for task in &tasks[3..] {
        assert_eq!(talk.ended(task).await["status"], "completed");
    }
    assert_eq!(talk.provider.most_in_flight(), 3);
}

#[tokio::test]
async fn a_raised_limit_holds_for_the_next_start() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    let mut tasks = Vec::new();
    for number in 0..9 {
        tasks.push(talk.leave("agent_coder", &format!("question {number}")).await);
    }
    talk.provider.until_in_flight(1).await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 4})).await;
    tasks.push(talk.leave("agent_coder", "one more").await);
    talk.provider.until_in_flight(4).await;
    talk.provider.release();
    for task in &tasks {
        assert_eq!(talk.ended(task).await["status"], "completed");
    }
    assert_eq!(talk.provider.most_in_flight(), 4);
}

#[tokio::test]
async fn what_is_urgent_goes_first_and_the_rest_in_the_order_in_which_it_was_sent() {
    let talk = Talk::new().await.with_room().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    talk.leave("agent_coder", "first").await;
    talk.provider.until_in_flight(1).await;
    let mut last = String::new();
    for number in 0..20 {
        // Within one moment of the clock, which stands still: numbers alone keep the order.
        let priority = if number % 4 == 3 { "high" } else { "normal" };
        let body =
            json!({"content": format!("{priority} {number:02}"), "target_agent": "agent_coder", "priority": priority});
        let sent = talk.say(body).await.ok();
        if priority == "normal" {
            last = sent["task_id"].as_str().unwrap().to_owned();
        }
    }
    talk.provider.release();
    talk.ended(&last).await;
    let asked: Vec<_> = talk.provider.requests().iter().skip(1).map(|request| request.last_user_text()).collect();
    let mut expected = asked.clone();
    expected.sort();
    assert_eq!(asked, expected, "`high` sorts before `normal`");
    assert_eq!(asked.len(), 20);
}

impl Talk {
    /// Waits until so many turns are under way.
    async fn quiet_but(&self, count: usize) {
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while self.world.house.bus().running() != count {
            assert!(std::time::Instant::now() < patience, "not {count} turns");
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
}
