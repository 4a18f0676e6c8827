//! Talking to agents: a message goes in, the model is asked, an answer is kept.

mod cancelling;
mod changes;
mod crashes;
mod faults;
mod histories;
mod isolation;
mod limits;
mod money;
mod parked;
mod queues;
mod requests;
mod spaces;
mod waiting;

use domain::ids::{ProjectId, WorkspaceId};
use domain::rules::{Declaration, HouseRules};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Answer, Ask, Events, ImitatedProvider, StreamEvent, Turn, World, miscounted_days};

pub(crate) struct Talk {
    pub(crate) world: World,
    pub(crate) provider: ImitatedProvider,
    pub(crate) owner: String,
    pub(crate) project: String,
    pub(crate) session: String,
}

pub(crate) const OWN: &str = "personal-usr_owner";
const ENDS: [&str; 3] = ["TASK_COMPLETED", "TASK_FAILED", "TASK_CANCELLED"];

impl Talk {
    /// A project of the owner with a session, whose models the imitation serves.
    pub(crate) async fn new() -> Self {
        let provider = ImitatedProvider::start().await;
        let world = World::patiently_served_by(&provider).await;
        Self::in_world(world, provider).await
    }

    /// The same where a model is given up after two seconds of silence.
    pub(crate) async fn impatient() -> Self {
        let provider = ImitatedProvider::start().await;
        let world = World::served_by(&provider).await;
        Self::in_world(world, provider).await
    }

    async fn in_world(world: World, provider: ImitatedProvider) -> Self {
        let owner = world.owner().await;
        let rich = json!({"budget": {"daily_usd": 1_000_000}});
        world.patch("/admin/workspaces/personal-usr_owner", &rich).by(&owner).send().await.ok();
        let project = world.project(&owner, "alpha").await["id"].as_str().unwrap().to_owned();
        let made = world.post("/sessions", &json!({"id": "s", "project": project})).by(&owner).send().await.ok();
        Self { world, provider, owner, project, session: made["id"].as_str().unwrap().to_owned() }
    }

    /// Closes the house and opens it again, as `serve` does: what was queued goes on.
    pub(crate) async fn reopened(self) -> Self {
        let world = self.world.reopened().await;
        service::worker_spaces::resume(&world.house).await.unwrap();
        Self { world, ..self }
    }

    /// The coder gets a model with room for any story, so that nothing is summarised.
    pub(crate) async fn with_room(self) -> Self {
        self.patch_agent("agent_coder", json!({"model": "gpt-4-turbo"})).await;
        self
    }

    /// Puts rules in force as if the file said so.
    pub(crate) async fn rule(&self, house: HouseRules) {
        self.world.declare(Declaration { house, ..Declaration::default() }).await;
    }

    /// One more session of the project.
    pub(crate) async fn session(&self, id: &str) {
        let body = json!({"id": id, "project": self.project});
        self.world.post("/sessions", &body).by(&self.owner).send().await.ok();
    }

    /// One more agent of the project.
    pub(crate) async fn agent(&self, name: &str, more: Value) -> Value {
        let mut choice = json!({"name": name, "role": "helper", "model": "gpt-4"});
        choice.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.world.agent(&self.owner, &self.project, choice).await
    }

    pub(crate) async fn patch_agent(&self, name: &str, change: Value) -> Value {
        let path = format!("/my/projects/{}/agents/{name}", self.project);
        self.world.patch(&path, &change).by(&self.owner).send().await.ok()
    }

    pub(crate) fn asking(&self, session: &str, body: &Value) -> Ask {
        self.world.post(&format!("/sessions/{session}/messages"), body).by(&self.owner)
    }

    pub(crate) async fn say(&self, body: Value) -> Answer {
        self.asking(&self.session, &body).send().await
    }

    /// Asks the coder and waits for its answer.
    pub(crate) async fn ask(&self, content: &str) -> Value {
        self.say(json!({"content": content, "target_agent": "agent_coder", "wait_s": 30})).await.ok()
    }

    /// Leaves a message with an agent; gives its task.
    pub(crate) async fn leave(&self, agent: &str, content: &str) -> String {
        self.leave_in("s", agent, content).await
    }

    pub(crate) async fn leave_in(&self, session: &str, agent: &str, content: &str) -> String {
        let body = json!({"content": content, "target_agent": agent});
        let sent = self.asking(session, &body).send().await;
        assert_eq!(sent.status, 202, "{}", sent.text);
        sent.json()["task_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn task_path(&self, task: &str) -> String {
        format!("/my/projects/{}/tasks/{task}", self.project)
    }

    pub(crate) async fn task(&self, task: &str) -> Value {
        self.world.get(&self.task_path(task)).by(&self.owner).send().await.ok()
    }

    pub(crate) async fn tasks(&self, status: &str) -> Vec<Value> {
        let path = format!("/my/projects/{}/tasks?limit=500&status={status}", self.project);
        items(self.world.get(&path).by(&self.owner).send().await)
    }

    pub(crate) fn cancelling(&self, task: &str) -> Ask {
        self.world.post(&format!("{}/cancel", self.task_path(task)), &json!({})).by(&self.owner)
    }

    pub(crate) async fn history(&self) -> Vec<Value> {
        self.history_of("s").await
    }

    pub(crate) async fn history_of(&self, session: &str) -> Vec<Value> {
        items(self.world.get(&format!("/sessions/{session}/messages?limit=500")).by(&self.owner).send().await)
    }

    /// The events of a session from the first.
    pub(crate) async fn events(&self, session: &str) -> Events {
        let path = format!("/sessions/{session}/events");
        self.world.get(&path).by(&self.owner).header("last-event-id", "0").stream().await
    }

    /// The task once it has ended.
    pub(crate) async fn ended(&self, task: &str) -> Value {
        let session = self.task(task).await["session"].as_str().unwrap().to_owned();
        let mut events = self.events(&session).await;
        until(&mut events, |event| event.data["task"] == *task && ENDS.contains(&event.kind.as_str())).await;
        self.task(task).await
    }

    /// What the people of the project are told, from the first.
    pub(crate) async fn project_events(&self) -> Events {
        let path = format!("/my/projects/{}/events", self.project);
        self.world.get(&path).by(&self.owner).header("last-event-id", "0").stream().await
    }

    pub(crate) async fn space(&self) -> Value {
        let path = format!("/my/projects/{}/worker-space", self.project);
        self.world.get(&path).by(&self.owner).send().await.ok()
    }

    pub(crate) fn place(&self) -> (WorkspaceId, ProjectId) {
        (WorkspaceId::parse(OWN).unwrap(), ProjectId::parse(&self.project).unwrap())
    }

    /// Waits until no turn is under way: what was to be settled is.
    pub(crate) async fn quiet(&self) {
        quiet(&self.world).await;
    }

    /// What is spent, in micro-dollars, of a ledger in which nothing is set aside and every sum is that of its rows.
    pub(crate) async fn spent(&self) -> u64 {
        self.quiet().await;
        assert_eq!(miscounted_days(&self.world.house).await, []);
        let path = format!("/workspaces/{OWN}/budget");
        let budget = self.world.get(&path).by(&self.owner).send().await.ok();
        assert_eq!(micros(&budget["reserved_usd"]), 0, "{budget}");
        micros(&budget["spent_usd"])
    }
}

pub(crate) fn micros(usd: &Value) -> u64 {
    (usd.as_f64().unwrap() * 1e6).round() as u64
}

#[track_caller]
pub(crate) fn items(answer: Answer) -> Vec<Value> {
    answer.ok()["items"].as_array().unwrap().clone()
}

pub(crate) async fn quiet(world: &World) {
    let patience = std::time::Instant::now() + Duration::from_secs(20);
    while world.house.bus().running() > 0 {
        assert!(std::time::Instant::now() < patience, "a turn goes on and on");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Reads on to the event that is meant; gives everything that was read.
pub(crate) async fn until(events: &mut Events, is_meant: impl Fn(&StreamEvent) -> bool) -> Vec<StreamEvent> {
    let mut seen = Vec::new();
    loop {
        let event = events.next().await.expect("the stream goes on");
        let done = is_meant(&event);
        seen.push(event);
        if done {
            return seen;
        }
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
