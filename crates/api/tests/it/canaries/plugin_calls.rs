//! The same people, and a plugin that all of them use. What somebody asks of it, and what it answers, carries a marker; it is told to
//! that person and to nobody else, in whatever workspace, by whatever door.

use super::markers::{self, Mark};
use super::scene::{Agent, Scene};
use crate::it::mcp::clients::{Client, NEW};
use axum::http::StatusCode;
use domain::capabilities::ToolSet;
use domain::rules::{Declaration, HouseRules};
use domain::workspaces::{ToolRules, WorkspaceSettings};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use testkit::{PluginTurn, Random, ScriptedPlugins, World, keep_logs, kept_logs, object_schema};

const STEPS: u64 = 120;
const CAPS: [&str; 1] = ["echo.*"];
const ASKED: [&str; 1] = ["echo.ask"];

/// A call that was made, by its id.
struct Made {
    person: usize,
    project: String,
    approval: Option<String>,
}

struct Life {
    scene: Scene,
    plugins: Arc<ScriptedPlugins>,
    random: Random,
    /// Whose a marker is.
    owners: BTreeMap<String, usize>,
    made: BTreeMap<String, Made>,
    ends: BTreeSet<String>,
}

impl Life {
    async fn new(seed: u64) -> Self {
        let scene = Scene::new().await;
        let plugins = scene.world.scripted_plugins();
        let schema = object_schema(&json!({"text": {"type": "string"}}));
        let tools = [("say", "Says it.", schema.clone()), ("ask", "Says it, if it may.", schema)];
        plugins.lists("echo", &CAPS, &ASKED, &tools);
        let allowed = ToolRules { allow: ToolSet::of(&CAPS), deny: ToolSet::default() };
        let personal = WorkspaceSettings { tools: Some(allowed), ..WorkspaceSettings::default() };
        let declared = World::declared(&[("echo", &CAPS, &ASKED)]);
        let house = HouseRules { plugins: declared, personal, ..HouseRules::default() };
        scene.world.declare(Declaration { house, ..Declaration::default() }).await;
        let owner = scene.world.owner().await;
        for workspace in ["team", "club"] {
            let allow = json!({"tools": {"allow": CAPS, "deny": []}});
            scene.world.patch(&format!("/admin/workspaces/{workspace}"), &allow).by(&owner).send().await.ok();
        }
        service::plugins::settle(&scene.world.house).await.expect("settled");
        let (random, owners) = (Random::new(seed), BTreeMap::new());
        Self { scene, plugins, random, owners, made: BTreeMap::new(), ends: BTreeSet::new() }
    }

    fn fresh(&mut self, person: usize) -> String {
        let marker = self.scene.markers.fresh(Mark::Value, self.scene.people[person].letter);
        self.owners.insert(marker.clone(), person);
        marker
    }

    /// Whoever hears a text knows all that is marked in it.
    #[track_caller]
    fn heard(&self, person: usize, text: &str) {
        for marker in markers::found(text).iter().filter(|marker| self.owners.contains_key(*marker)) {
            assert_eq!(self.owners[marker], person, "{} is told {marker}: {text}", self.scene.people[person].name);
        }
    }

    async fn step(&mut self) {
        let (person, at) = (self.random.index(3), self.random.index(self.scene.agents.len()));
        let agent = self.scene.agents[at].clone();
        let (asked, answered) = (self.fresh(person), self.fresh(person));
        let tool = *self.random.one_of(&["echo.say", "echo.say", "echo.ask"]);
        if !self.scene.may_use(person, &agent) {
            return self.try_as_stranger(person, &agent, tool, &asked).await;
        }
        // What waits for a person is answered later, with what was asked.
        if tool == "echo.say" {
            let turns = [PluginTurn::Says(answered.clone()), PluginTurn::Fails(answered), PluginTurn::Crashes];
            self.plugins.then(self.random.one_of(&turns).clone());
        }
        if tool == "echo.say" && self.random.once_in(3) {
            let mut client = Client::new(&self.scene.world, self.scene.token(person, &agent), NEW).await;
            let told = client.result("tools/call", json!({"name": tool, "arguments": {"text": asked}})).await;
            self.ends.insert("by MCP".to_owned());
            return self.heard(person, &told.to_string());
        }
        let project = self.scene.place(&agent).id.clone();
        let wait_s = if tool == "echo.say" { 10 } else { 0 };
        let body = json!({"agent": agent.name, "tool": tool, "params": {"text": asked}, "wait_s": wait_s});
        let path = format!("/my/projects/{project}/tools/execute");
        let answer = self.scene.world.post(&path, &body).by(&self.scene.people[person].token).send().await;
        self.heard(person, &answer.text);
        let call = answer.ok();
        self.ends.insert(call["status"].as_str().unwrap().to_owned());
        let approval = call["approval_id"].as_str().map(str::to_owned);
        if let Some(approval) = &approval
            && self.random.once_in(2)
        {
            let path = format!("/my/projects/{project}/approvals/{approval}/approve");
            let yes = json!({"digest": call["digest"]});
            let answer = self.scene.world.post(&path, &yes).by(&self.scene.people[person].token).send().await;
            self.heard(person, &answer.text);
            answer.ok();
            self.until_ended(person, &project, &call).await;
        }
        self.made.insert(call["id"].as_str().unwrap().to_owned(), Made { person, project, approval });
    }

    /// What the plugin says next is for the next call.
    async fn until_ended(&self, person: usize, project: &str, call: &Value) {
        let path = format!("/my/projects/{project}/tools/{}", call["id"].as_str().unwrap());
        for _ in 0..1_000 {
            let answer = self.scene.world.get(&path).by(&self.scene.people[person].token).send().await;
            self.heard(person, &answer.text);
            if answer.ok()["status"] == "completed" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not end");
    }

    async fn try_as_stranger(&mut self, person: usize, agent: &Agent, tool: &str, asked: &str) {
        let path = format!("/my/projects/{}/tools/execute", self.scene.place(agent).id);
        let body = json!({"agent": agent.name, "tool": tool, "params": {"text": asked}});
        let answer = self.scene.world.post(&path, &body).by(&self.scene.people[person].token).send().await;
        assert_eq!((answer.status, answer.code().as_str()), (StatusCode::NOT_FOUND, "PROJECT_NOT_FOUND"));
        self.heard(person, &answer.text);
        assert!(markers::found(&answer.text).is_empty(), "a refusal repeats nothing: {}", answer.text);
    }

    /// Whatever somebody can look at, of their own and of others.
    async fn look_back(&mut self) {
        for person in 0..self.scene.people.len() {
            let token = self.scene.people[person].token.clone();
            for path in ["/my/approvals", "/my/standing-rules"] {
                let answer = self.scene.world.get(path).by(&token).send().await;
                self.heard(person, &answer.text);
                answer.ok();
            }
            for place in &self.scene.projects {
                let expected = if self.scene.is_member(person, place.workspace) { 200 } else { 404 };
                for list in ["tools?limit=500", "tools/available"] {
                    let path = format!("/my/projects/{}/{list}", place.id);
                    let answer = self.scene.world.get(&path).by(&token).send().await;
                    assert_eq!(answer.status, expected, "{path} {}", answer.text);
                    self.heard(person, &answer.text);
                }
            }
            for (id, made) in &self.made {
                let mut paths = vec![format!("/my/projects/{}/tools/{id}", made.project)];
                paths.extend(made.approval.iter().map(|approval| format!("/my/approvals/{approval}")));
                for path in paths {
                    let answer = self.scene.world.get(&path).by(&token).send().await;
                    let expected = if made.person == person { StatusCode::OK } else { StatusCode::NOT_FOUND };
                    assert_eq!(answer.status, expected, "{path} {}", answer.text);
                    self.heard(person, &answer.text);
                }
            }
            let own = self.scene.projects.iter().filter(|place| self.scene.is_member(person, place.workspace));
            let streams: Vec<String> = own.map(|place| format!("/my/projects/{}/events", place.id)).collect();
            for path in streams.into_iter().chain(["/my/events".to_owned()]) {
                self.look_at_stream(person, &path, &token).await;
            }
        }
    }

    /// An event says that something happened, and never what was asked or answered.
    async fn look_at_stream(&mut self, person: usize, path: &str, token: &str) {
        let ask = self.scene.world.get(path).by(token).header("last-event-id", "0");
        let mut stream = ask.stream().await;
        let mut count = 0;
        while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(300), stream.next()).await {
            let text = event.data.to_string();
            assert!(!markers::has_value(&text), "{path}: {text}");
            self.heard(person, &text);
            count += u64::from(event.kind.starts_with("TOOL_"));
        }
        assert!(count > 0, "a stream without a call proves nothing");
    }

    async fn look_as_owner(&self) {
        let owner = self.scene.world.owner().await;
        for path in ["/metrics", "/admin/plugins", "/admin/deliveries"] {
            let text = self.scene.world.get(path).by(&owner).send().await.text;
            assert!(markers::found(&text).is_empty(), "{path} {text}");
        }
        for id in self.made.values().filter_map(|made| made.approval.as_ref()) {
            let answer = self.scene.world.get(&format!("/my/approvals/{id}")).by(&owner).send().await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
        }
        for row in crate::it::workshop::pages(&self.scene.world, &owner, "/admin/audit", 500).await {
            assert!(!markers::has_value(&Value::to_string(&row)), "{row}");
        }
        let logs = kept_logs();
        assert_eq!(logs.lines().find(|line| markers::has_value(line)), None, "what was said is in the log");
    }
}

#[tokio::test]
async fn what_is_asked_of_a_plugin_and_answered_is_told_to_nobody_else() {
    keep_logs();
    let mut life = Life::new(1).await;
    for step in 0..STEPS {
        if step == STEPS / 2 {
            let scene = life.scene.reopened().await;
            scene.world.use_plugins(&life.plugins);
            life = Life { scene, ..life };
        }
        life.step().await;
    }
    for end in ["completed", "unknown", "waiting_approval", "by MCP"] {
        assert!(life.ends.contains(end), "{end} never happened: {:?}", life.ends);
    }
    // It was told all of it, and no more: the plugin's own words are no proof without.
    let told: BTreeSet<String> =
        life.plugins.called().iter().flat_map(|(_, text)| markers::found(&text.to_string())).collect();
    assert!(told.len() > 30 && told.iter().all(|marker| life.owners.contains_key(marker)), "{told:?}");
    life.look_back().await;
    life.look_as_owner().await;
}
