//! Agents and MCP clients that use plugins.

use super::Casino;
use crate::it::mcp::clients::{Client, NEW};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ImitatedProvider, PluginTurn, Turn, World};

async fn say(casino: &Casino<'_>) -> Value {
    let world = casino.world;
    world.post("/sessions", &json!({"id": "s", "project": "garden"})).by(&casino.owner).send().await;
    let message = json!({"content": "please", "target_agent": "agent_coder"});
    world.post("/sessions/s/messages", &message).by(&casino.owner).send().await.ok()
}

async fn until(casino: &Casino<'_>, sent: &Value, status: &str) -> Value {
    let path = format!("/my/projects/garden/tasks/{}", sent["task_id"].as_str().unwrap());
    for _ in 0..1_000 {
        let task = casino.world.get(&path).by(&casino.owner).send().await.ok();
        if task["status"] == status {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not become {status}");
}

async fn calls(casino: &Casino<'_>) -> Vec<Value> {
    let list = casino.world.get("/my/projects/garden/tools").by(&casino.owner).send().await.ok();
    list["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_agent_calls_a_tool_by_a_name_without_dots_and_goes_on_with_its_answer() {
    let provider = ImitatedProvider::start().await;
    let world = World::served_by(&provider).await;
    let casino = Casino::new(&world).await;
    provider.script(vec![Turn::call("dice.roll", json!({"sides": 6})), Turn::say("It shows four.")]);
    casino.plugins.then(PluginTurn::Says("canary-4".to_owned()));
    let sent = say(&casino).await;
    until(&casino, &sent, "completed").await;
    let asked = provider.requests();
    assert!(asked[0].body.to_string().contains("dice__roll"), "a dot is written otherwise for providers");
    assert!(!asked[0].body.to_string().contains("dice.roll"), "and only so");
    assert!(asked[1].body.to_string().contains("canary-4"), "the answer goes back to the model");
    let made = calls(&casino).await;
    assert_eq!((made.len(), &made[0]["tool"], &made[0]["consumed"]), (1, &json!("dice.roll"), &json!(true)));
    assert_eq!(casino.plugins.called().len(), 1);
}

#[tokio::test]
async fn a_turn_waits_for_a_person_and_goes_on_after_a_restart() {
    let provider = ImitatedProvider::start().await;
    let world = World::served_by(&provider).await;
    let casino = Casino::new(&world).await;
    provider.script(vec![Turn::call("dice.drop", json!({})), Turn::say("It is gone.")]);
    let sent = say(&casino).await;
    until(&casino, &sent, "waiting").await;
    let (plugins, owner) = (casino.plugins.clone(), casino.owner.clone());
    let world = world.reopened().await;
    world.use_plugins(&plugins);
    let casino = Casino { world: &world, plugins, owner };
    let waiting = calls(&casino).await.remove(0);
    assert_eq!(waiting["status"], "waiting_approval");
    casino.approve(&waiting).await.ok();
    until(&casino, &sent, "completed").await;
    assert_eq!(casino.plugins.called().len(), 1);
}

#[tokio::test]
async fn a_turn_that_is_cancelled_cancels_the_call_that_it_waits_for() {
    let provider = ImitatedProvider::start().await;
    let world = World::served_by(&provider).await;
    let casino = Casino::new(&world).await;
    provider.script(vec![Turn::call("dice.roll", json!({}))]);
    casino.plugins.then(PluginTurn::Hangs);
    let sent = say(&casino).await;
    until(&casino, &sent, "waiting").await;
    let call = calls(&casino).await.remove(0);
    let path = format!("/my/projects/garden/tasks/{}/cancel", sent["task_id"].as_str().unwrap());
    world.post(&path, &json!({})).by(&casino.owner).send().await.ok();
    let ended = casino.until(&call, "unknown").await;
    assert_eq!((&ended["reason"]["code"], &ended["consumed"]), (&json!("CANCELLED"), &json!(true)));
    assert_eq!(casino.plugins.cancelled(), 1, "the plugin was told");
}

#[tokio::test]
async fn an_mcp_client_is_shown_and_calls_what_its_agent_may() {
    let world = World::new().await;
    let casino = Casino::new(&world).await;
    let agent = world.get("/my/projects/garden").by(&casino.owner).send().await.ok()["agents"][0]["id"].clone();
    let token = world.agent_token(&casino.owner, json!({"agent": agent})).await;
    let mut client = Client::new(&world, &token, NEW).await;
    let listed = client.result("tools/list", json!({})).await["tools"].clone();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"dice.roll") && names.contains(&"dice.drop") && names.contains(&"tool_call_status"));
    assert!(!names.contains(&"dice.other.read"), "{names:?}");
    casino.plugins.then(PluginTurn::Says("5".to_owned()));
    let answer = client.result("tools/call", json!({"name": "dice.roll", "arguments": {"sides": 6}})).await;
    assert_eq!(answer["structuredContent"]["result"]["text"], "5", "{answer}");
    assert_ne!(answer["isError"], true);
    let mut person = Client::new(&world, &casino.owner, NEW).await;
    let listed = person.result("tools/list", json!({})).await.to_string();
    assert!(!listed.contains("dice."), "a person is not an agent");
}
