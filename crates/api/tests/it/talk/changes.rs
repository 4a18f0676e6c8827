//! Agents that are changed or deleted while people talk to them.

use super::{Talk, items};
use serde_json::json;
use testkit::Turn;

#[tokio::test]
async fn a_change_of_an_agent_is_used_by_the_very_next_message() {
    let talk = Talk::new().await;
    talk.ask("before").await;
    for (number, (change, seen)) in [
        (json!({"system_prompt": "Speak like a pirate."}), "Speak like a pirate."),
        (json!({"model": "gpt-4o"}), "\"gpt-4o\""),
        (json!({"temperature": 1.25}), "\"temperature\":1.25"),
        (json!({"max_tokens": 777}), "777"),
        (json!({"role": "cartographer"}), "cartographer"),
    ]
    .into_iter()
    .enumerate()
    {
        talk.patch_agent("agent_coder", change).await;
        talk.ask(&format!("question {number}")).await;
        let asked = talk.provider.requests().pop().unwrap().body.to_string();
        assert!(asked.contains(seen), "{seen}: {asked}");
    }
    talk.patch_agent("agent_coder", json!({"name": "navigator"})).await;
    talk.say(json!({"content": "x", "target_agent": "agent_coder"})).await.refused(404, "AGENT_NOT_FOUND");
    let sent = talk.say(json!({"content": "x", "target_agent": "navigator", "wait_s": 30})).await.ok();
    assert_eq!(sent["reply"]["agent"], "navigator");
    assert!(talk.provider.requests().pop().unwrap().system().contains("navigator"));
}

#[tokio::test]
async fn a_task_that_was_queued_before_a_change_runs_with_it() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    talk.leave("agent_coder", "first").await;
    talk.provider.until_in_flight(1).await;
    let second = talk.leave("agent_coder", "second").await;
    talk.patch_agent("agent_coder", json!({"system_prompt": "Changed meanwhile."})).await;
    talk.provider.release();
    talk.ended(&second).await;
    let requests = talk.provider.requests();
    assert!(!requests[0].system().contains("Changed meanwhile."));
    assert!(requests[1].system().contains("Changed meanwhile."));
}

#[tokio::test]
async fn tools_that_are_taken_away_in_the_middle_of_a_turn_are_refused_in_it() {
    let talk = Talk::new().await;
    talk.provider.block();
    let write = |key: &str| json!({"key": key, "value": "x"});
    talk.provider.script(vec![
        Turn::call("workspace_write", write("secret")),
        Turn::call("workspace_write", write("again")),
        Turn::say("I gave up."),
    ]);
    let task = talk.leave("agent_coder", "write something").await;
    talk.provider.until_in_flight(1).await;
    talk.patch_agent("agent_coder", json!({"tools": ["shared_context"]})).await;
    talk.provider.release();
    assert_eq!(talk.ended(&task).await["status"], "completed");
    let history = talk.history().await;
    for step in &history[1..=2] {
        let call = &step["tool_calls"][0];
        assert_eq!((&call["tool"], &call["is_error"]), (&json!("workspace_write"), &json!(true)), "{history:?}");
    }
    let offered = talk.provider.requests()[1].tool_names();
    assert_eq!(offered, ["shared_context"]);
    talk.patch_agent("agent_coder", json!({"tools": null})).await;
    let path = format!("/my/projects/{}/agents/agent_coder/tools/workspace_list", talk.project);
    let listed = talk.world.post(&path, &json!({})).by(&talk.owner).send().await.ok();
    assert!(!listed.to_string().contains("secret"), "{listed}");
}

#[tokio::test]
async fn the_queued_tasks_of_a_deleted_agent_are_cancelled_and_its_running_one_may_finish() {
    let talk = Talk::new().await;
    talk.patch_agent("agent_coder", json!({"concurrency_limit": 1})).await;
    talk.provider.block();
    let running = talk.leave("agent_coder", "first").await;
    talk.provider.until_in_flight(1).await;
    let queued = [talk.leave("agent_coder", "second").await, talk.leave("agent_coder", "third").await];
    let path = format!("/my/projects/{}/agents/agent_coder", talk.project);
    talk.world.delete(&path).by(&talk.owner).send().await.ok();
    for task in &queued {
        let task = talk.ended(task).await;
        assert_eq!((&task["status"], &task["error"]["code"]), (&json!("cancelled"), &json!("CANCELLED")), "{task}");
    }
    talk.say(json!({"content": "x", "target_agent": "agent_coder"})).await.refused(404, "AGENT_NOT_FOUND");
    talk.provider.release();
    let first = talk.ended(&running).await;
    assert_eq!(first["status"], "completed", "{first}");
    assert_eq!(talk.provider.requests().len(), 1);
    assert_eq!(talk.history().await.len(), 6, "three questions, one answer, two that say why there is none");
    // Another agent of that name is another agent.
    talk.agent("agent_coder", json!({})).await;
    assert_eq!(talk.ask("Are you there?").await["status"], "completed");
    let page = format!("/my/projects/{}/tasks?limit=2", talk.project);
    assert_eq!(items(talk.world.get(&page).by(&talk.owner).send().await).len(), 2);
    talk.spent().await;
}
