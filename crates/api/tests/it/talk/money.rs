//! Money: what does not fit is not asked for, however many ask at once.

use super::{OWN, Talk, micros};
use serde_json::{Value, json};
use testkit::{Turn, miscounted_days};

impl Talk {
    async fn limit(&self, micros: u64) {
        let budget = json!({"budget": {"daily_usd": micros as f64 / 1e6}});
        self.world.patch(&format!("/admin/workspaces/{OWN}"), &budget).by(&self.owner).send().await.ok();
    }

    async fn budget(&self) -> Value {
        self.world.get(&format!("/workspaces/{OWN}/budget")).by(&self.owner).send().await.ok()
    }
}

#[tokio::test]
async fn a_message_that_cannot_be_paid_for_is_refused_at_the_door() {
    let talk = Talk::new().await;
    talk.limit(1_000).await;
    let body = json!({"content": "x", "target_agent": "agent_coder"});
    let details = talk.say(body).await.refused(402, "BUDGET_EXCEEDED");
    assert!(details.is_object(), "{details}");
    assert_eq!(talk.history().await.len(), 0);
    talk.patch_agent("agent_coder", json!({"model": "a-model-without-a-price"})).await;
    talk.say(json!({"content": "x", "target_agent": "agent_coder"})).await.refused(402, "PRICE_UNKNOWN");
    assert_eq!((talk.provider.requests().len(), talk.spent().await), (0, 0));
}

#[tokio::test]
async fn a_turn_that_runs_out_of_money_says_so_and_its_history_is_readable() {
    let talk = Talk::new().await;
    let step = Turn::call("shared_context", json!({"action": "write", "key": "k", "value": "v"}));
    // The first call takes nearly everything.
    talk.provider.script(vec![step.using(20_000, 1), Turn::say("never said")]);
    talk.limit(700_000).await;
    let sent = talk.ask("go on").await;
    assert_eq!((&sent["status"], &sent["error"]["code"]), (&json!("failed"), &json!("BUDGET_EXCEEDED")), "{sent}");
    let history = talk.history().await;
    assert_eq!(history.len(), 3, "{history:?}");
    assert_eq!(history[1]["tool_calls"][0]["tool"], "shared_context");
    assert_eq!(history[2]["error"]["code"], "BUDGET_EXCEEDED");
    assert_eq!(talk.spent().await, 20_000 * 30 + 60);
    talk.limit(2_000_000).await;
    talk.provider.script(vec![]);
    assert_eq!(talk.ask("and now?").await["status"], "completed");
}

#[tokio::test]
async fn fifty_messages_at_once_on_a_budget_for_ten_stay_within_it() {
    let talk = Talk::new().await;
    let agents = ["agent_coder", "agent_analyzer", "agent_writer", "agent_researcher", "extra"];
    talk.agent("extra", json!({})).await;
    for agent in agents {
        // Every call sets aside about 61 440 for the answer and a little for the prompt.
        talk.patch_agent(agent, json!({"concurrency_limit": 10, "max_tokens": 1024})).await;
    }
    for session in 0..5 {
        talk.session(&format!("m{session}")).await;
    }
    let limit = 1_500_000;
    talk.limit(limit).await;
    talk.provider.block();
    talk.provider.answering(|_| Some(Turn::say("Dear.").using(500, 1000)));
    let mut tasks = Vec::new();
    for number in 0..50 {
        let session = format!("m{}", number % 5);
        let body = json!({"content": format!("question {number}"), "target_agent": agents[number / 10]});
        let answer = talk.asking(&session, &body).send().await;
        match answer.status.as_u16() {
            202 => tasks.push(answer.json()["task_id"].as_str().unwrap().to_owned()),
            402 => drop(answer.refused(402, "BUDGET_EXCEEDED")),
            _ => panic!("{}", answer.text),
        }
        let budget = talk.budget().await;
        assert!(micros(&budget["reserved_usd"]) + micros(&budget["spent_usd"]) <= limit, "{budget}");
    }
    talk.provider.release();
    let mut completed = 0;
    for task in &tasks {
        let budget = talk.budget().await;
        assert!(micros(&budget["reserved_usd"]) + micros(&budget["spent_usd"]) <= limit, "{budget}");
        let task = talk.ended(task).await;
        match task["error"]["code"].as_str() {
            None => completed += 1,
            Some(code) => assert_eq!(code, "BUDGET_EXCEEDED", "{task}"),
        }
    }
    let spent = talk.spent().await;
    assert_eq!(spent, completed * (500 * 30 + 1000 * 60), "{completed} answers");
    assert!(spent <= limit && (5..50).contains(&completed), "{completed} answers for {spent}");
    assert_eq!(miscounted_days(&talk.world.house).await, []);
}
