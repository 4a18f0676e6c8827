//! Talking to agents: a message goes in, the model is asked, an answer is kept.

use serde_json::{Value, json};
use testkit::{ImitatedProvider, Turn, World};

pub(crate) struct Talk {
    pub(crate) world: World,
    pub(crate) provider: ImitatedProvider,
    pub(crate) owner: String,
    pub(crate) project: String,
    pub(crate) session: String,
}

impl Talk {
    /// A project of the owner with a session, whose models the imitation serves.
    pub(crate) async fn new() -> Self {
        let provider = ImitatedProvider::start().await;
        let world = World::served_by(&provider).await;
        let owner = world.owner().await;
        let rich = json!({"budget": {"daily_usd": 1_000_000}});
        world.patch("/admin/workspaces/personal-usr_owner", &rich).by(&owner).send().await.ok();
        let project = world.project(&owner, "alpha").await["id"].as_str().unwrap().to_owned();
        let made = world.post("/sessions", &json!({"id": "s", "project": project})).by(&owner).send().await.ok();
        Self { world, provider, owner, project, session: made["id"].as_str().unwrap().to_owned() }
    }

    pub(crate) async fn say(&self, body: Value) -> testkit::Answer {
        self.world.post(&format!("/sessions/{}/messages", self.session), &body).by(&self.owner).send().await
    }

    pub(crate) async fn ask(&self, content: &str) -> Value {
        self.say(json!({"content": content, "target_agent": "agent_coder", "wait_s": 30})).await.ok()
    }

    pub(crate) async fn history(&self) -> Vec<Value> {
        let path = format!("/sessions/{}/messages?limit=500", self.session);
        self.world.get(&path).by(&self.owner).send().await.ok()["items"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn a_message_is_answered_by_the_agent_that_was_named() {
    let talk = Talk::new().await;
    talk.provider.script(vec![Turn::say("Four.").using(100, 3)]);
    let sent = talk.ask("How much is two and two?").await;
    assert_eq!((sent["mode"].as_str(), sent["status"].as_str()), (Some("direct"), Some("completed")), "{sent}");
    assert_eq!((&sent["reply"]["content"], &sent["reply"]["agent"]), (&json!("Four."), &json!("agent_coder")));
    assert_eq!(sent["reply"]["usage"]["input_tokens"], 100);
    let history = talk.history().await;
    assert_eq!(history.len(), 2, "{history:?}");
    assert_eq!(history[1]["in_reply_to"], sent["message_id"]);
    let asked = &talk.provider.requests()[0];
    assert!(asked.system().contains("agent_coder"), "{}", asked.system());
    assert!(asked.tool_names().contains(&"workspace_write".to_owned()), "{:?}", asked.tool_names());
}

#[tokio::test]
async fn a_tool_is_used_in_the_middle_of_a_turn_and_the_next_turn_remembers_it() {
    let talk = Talk::new().await;
    let write = json!({"action": "write", "key": "scope", "value": "small"});
    talk.provider.script(vec![Turn::call("shared_context", write), Turn::say("Noted."), Turn::say("Small.")]);
    assert_eq!(talk.ask("Note that the scope is small").await["reply"]["content"], "Noted.");
    let read = json!({"action": "read", "key": "scope"});
    let entry = talk.world.context(&talk.owner, "s", &read).send().await.ok();
    assert_eq!((&entry["value"], &entry["written_by"]), (&json!("small"), &json!("subagent:agent_coder:1")));
    assert_eq!(talk.ask("What is the scope?").await["reply"]["content"], "Small.");
    let last = talk.provider.requests().pop().unwrap();
    assert!(last.messages().iter().any(|message| message.to_string().contains("scope")), "{:?}", last.messages());
    let history = talk.history().await;
    assert_eq!(history[1]["tool_calls"][0]["tool"], "shared_context", "{history:?}");
}

#[tokio::test]
async fn without_a_provider_the_demo_answers_and_says_so() {
    let world = World::new().await;
    let owner = world.owner().await;
    let project = world.project(&owner, "alpha").await["id"].clone();
    world.post("/sessions", &json!({"id": "s", "project": project})).by(&owner).send().await.ok();
    let body = json!({"content": "hello", "target_agent": "agent_writer", "wait_s": 30});
    let sent = world.post("/sessions/s/messages", &body).by(&owner).send().await.ok();
    assert_eq!((&sent["status"], &sent["reply"]["model"]), (&json!("completed"), &json!("demo")), "{sent}");
    assert!(sent["reply"]["content"].as_str().unwrap().contains("demo"), "{sent}");
    assert_eq!(sent["reply"]["usage"]["cost_usd"], 0.0);
}
