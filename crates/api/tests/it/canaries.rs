//! Random lives of three people and their agents. Every private key and every value carries a marker; whatever anybody
//! else, or any shared agent, is ever told is searched for markers that are not theirs to know. What is right to answer,
//! and who may know what, says the reference model.

mod markers;
mod model;
mod plugin_calls;
mod scene;
mod steps;
mod turns;

use super::mcp::clients::{Client, NEW};
use axum::http::{HeaderMap, StatusCode};
use markers::Mark;
use model::{Acting, Model, Outcome, Told};
use scene::{Agent, Scene};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::{Answer, Random, StreamEvent, keep_logs, kept_logs};

const STEPS: u64 = 500;

/// The house and the model side by side.
struct Life {
    scene: Scene,
    model: Model,
    random: Random,
    /// What is being done, for a message when it goes wrong.
    doing: String,
    kind: &'static str,
    /// What was done and how it ended: a test of what never happens proves nothing.
    seen: BTreeSet<(&'static str, &'static str)>,
}

impl Life {
    async fn new(seed: u64) -> Self {
        let (scene, model) = (Scene::new().await, Model::default());
        let (random, doing) = (Random::new(seed), String::new());
        let mut life = Self { scene, model, random, doing, kind: "", seen: BTreeSet::new() };
        // The first events of the house are of sessions, which nobody deletes: so a reader can begin at the beginning.
        for session in 0..life.scene.sessions.len() {
            life.talk(session, "begin").await;
        }
        life
    }

    fn person(&mut self) -> usize {
        self.random.index(self.scene.people.len())
    }

    fn agent(&mut self) -> usize {
        self.random.index(self.scene.agents.len())
    }

    /// A person, an agent that the person may use, and a token: the person's own or the agent's.
    fn hand(&mut self) -> (usize, Agent, String) {
        loop {
            let (person, agent) = (self.person(), self.agent());
            let agent = self.scene.agents[agent].clone();
            if self.scene.may_use(person, &agent) {
                let own = self.random.once_in(2);
                let token = if own { &self.scene.people[person].token } else { self.scene.token(person, &agent) };
                let token = token.to_owned();
                return (person, agent, token);
            }
        }
    }

    fn acting(&self, person: usize, agent: &Agent) -> Acting {
        Acting {
            agent: agent.id.clone(),
            user: self.scene.people[person].user(),
            scope: self.scene.scope(person, agent),
            workspace: self.scene.scope_workspace(person, agent),
            project: self.scene.place(agent).id.clone(),
        }
    }

    /// One of a person's private keys.
    fn private_key(&mut self, person: usize) -> String {
        self.random.one_of(&self.scene.people[person].keys).clone()
    }

    /// Any key: of what is there, of what somebody has in private, or just a word.
    fn any_key(&mut self, scope: &str) -> String {
        let there = self.model.keys(scope);
        match self.random.below(6) {
            0..4 if !there.is_empty() => self.random.one_of(&there).clone(),
            0..5 => format!("notice {}", self.random.below(4)),
            _ => {
                let whose = self.person();
                self.private_key(whose)
            }
        }
    }

    fn fresh(&mut self, mark: Mark, whose: char) -> String {
        self.scene.markers.fresh(mark, whose)
    }

    /// Calls a tool by HTTP, or if the token is the agent's own, by MCP now and then.
    async fn call(&mut self, token: &str, agent: &Agent, tool: &str, request: &Value) -> Answer {
        let own = self.scene.people.iter().all(|person| person.token != token);
        if own && self.random.once_in(3) {
            self.doing += " by MCP";
            return self.call_by_mcp(token, tool, request).await;
        }
        self.call_by_http(token, agent, tool, request).await
    }

    async fn call_by_http(&mut self, token: &str, agent: &Agent, tool: &str, request: &Value) -> Answer {
        let place = self.scene.place(agent);
        let by_id = (format!("{}/{}", place.id, agent.name), format!("{}/{}", place.name, agent.id));
        let path = if self.random.once_in(2) { by_id.0 } else { by_id.1 };
        self.scene.world.tool(token, &path, tool, request).send().await
    }

    async fn call_by_mcp(&self, token: &str, tool: &str, request: &Value) -> Answer {
        let told = Client::new(&self.scene.world, token, NEW).await.tool(tool, request.clone()).await;
        let status = if told.get("error").is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        Answer { status, headers: HeaderMap::new(), text: told.to_string() }
    }

    /// Compares an answer with what is right, and searches it for what the one who hears it must not learn.
    fn heard(&mut self, answer: &Answer, expected: &Outcome, scopes: &[&str]) {
        let markers = markers::found(&answer.text);
        match expected {
            Err(code) => {
                self.seen.insert((self.kind, code));
                assert_eq!(answer.code(), *code, "{}: {}", self.doing, answer.text);
                assert!(markers.is_empty(), "{}: a refusal tells {markers:?}: {}", self.doing, answer.text);
            }
            Ok(expected) => {
                self.seen.insert((self.kind, if expected["overwritten"] == true { "over" } else { "" }));
                assert!(answer.status.is_success(), "{}: {} {}", self.doing, answer.status, answer.text);
                let leaked = self.leaked(&markers, scopes);
                assert!(leaked.is_empty(), "{}: {leaked:?} is told in {}", self.doing, answer.text);
                let mut told = if answer.text.is_empty() { Value::Null } else { answer.json() };
                without_times(&mut told);
                assert_eq!(told, *expected, "{}", self.doing);
            }
        }
    }

    /// The markers that none of these scopes may know.
    fn leaked<'m>(&self, markers: &'m BTreeSet<String>, scopes: &[&str]) -> Vec<&'m String> {
        let known = |marker: &String| scopes.iter().any(|scope| self.model.knows(scope, marker));
        markers.iter().filter(|marker| !known(marker)).collect()
    }

    /// At the end: every stream from its beginning, the audit, the log and what everybody may always ask for.
    async fn look_back(&mut self) {
        for project in 0..self.scene.projects.len() {
            self.end_of_project(project).await;
        }
        for person in 0..self.scene.people.len() {
            // By then all the others may have become shared.
            self.scene.hire(person, "ending", false, false).await;
            let agent = self.scene.agents.last().expect("just hired").clone();
            let acting = self.acting(person, &agent);
            self.model.write(&acting, "end", "x", None).expect("written");
            let token = self.scene.people[person].token.clone();
            let request = json!({"key": "end", "value": "x"});
            self.call_by_http(&token, &agent, "workspace_write", &request).await.ok();
            self.compare_events(person, "/my/events".to_owned(), None, &acting.scope).await;
            for project in 0..self.scene.projects.len() {
                let place = &self.scene.projects[project];
                if self.scene.is_member(person, place.workspace) {
                    let (path, last) = (format!("/my/projects/{}/events", place.id), format!("{}-end", place.name));
                    self.compare_events(person, path, Some(place.id.clone()), &last).await;
                }
            }
        }
        let owner = self.scene.world.owner().await;
        let mut open = vec![self.scene.world.get("/metrics").by(&owner).send().await.text];
        for token in [self.scene.people[0].token.clone(), owner.clone()] {
            open.push(self.scene.world.get("/tools/schemas").by(&token).send().await.text);
        }
        for text in open {
            assert!(markers::found(&text).is_empty(), "{text}");
        }
        for row in super::workshop::pages(&self.scene.world, &owner, "/admin/audit", 500).await {
            assert!(!markers::has_value(&row.to_string()), "{row}");
        }
        let logs = kept_logs();
        let line = logs.lines().find(|line| markers::has_value(line));
        assert_eq!(line, None, "a value is in the log");
    }

    /// One last session in a project, so that its stream has an end.
    async fn end_of_project(&mut self, project: usize) {
        let place = &self.scene.projects[project];
        let (id, workspace) = (format!("{}-end", place.name), place.workspace);
        let token = self.scene.people[place.creator].token.clone();
        let body = json!({"id": id, "project": place.id});
        self.scene.world.post("/sessions", &body).by(&token).send().await.ok();
        self.scene.sessions.push(scene::Session { id, workspace, project: Some(project) });
        self.talk(self.scene.sessions.len() - 1, "end").await;
    }

    /// A stream is exactly what the model has told, to the last event of `last`.
    async fn compare_events(&mut self, person: usize, path: String, project: Option<String>, last: &str) {
        self.doing = format!("{} looks back at {path}", self.scene.people[person].name);
        let ask = self.scene.world.get(&path).by(&self.scene.people[person].token).header("last-event-id", "0");
        let mut stream = ask.stream().await;
        let mut seen = Vec::new();
        loop {
            let event = stream.next().await.expect("the stream goes on");
            self.check_event(person, &event);
            let what = rendered(&event);
            let is_last = what[1] == last && what[2] == "end";
            seen.push(what);
            if is_last {
                break;
            }
        }
        let of_project = |told: &&Told| match &project {
            None => self.scene.is_member(person, &told.workspace),
            Some(id) => {
                let workspace = self.scene.projects.iter().find(|place| place.id == *id).map(|place| place.workspace);
                told.project.as_ref() == Some(id) && workspace == Some(told.workspace.as_str())
            }
        };
        let mut expected: Vec<Value> =
            self.model.told.iter().filter(of_project).map(|told| told.what.clone()).collect();
        let end = expected.iter().position(|what| what[1] == last && what[2] == "end").expect("an end");
        expected.truncate(end + 1);
        assert_eq!(seen.len(), expected.len(), "{}", self.doing);
        for (number, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
            assert_eq!(seen, expected, "{}: event {number}", self.doing);
        }
    }

    /// An event has no value, and no key but of scopes that the reader may know of.
    fn check_event(&self, person: usize, event: &StreamEvent) {
        let text = event.data.to_string();
        assert!(!markers::has_value(&text), "{}: {text}", self.doing);
        let own = self.scene.people[person].scope();
        let scope = event.data["scope"].as_str().or(event.data["session"].as_str()).expect("a scope or a session");
        assert!(!scope.starts_with("user-") || scope == own, "{}: {text}", self.doing);
        let markers = markers::found(&text);
        assert!(self.leaked(&markers, &[scope]).is_empty(), "{}: {text}", self.doing);
    }
}

fn rendered(event: &StreamEvent) -> Value {
    let data = &event.data;
    if data.get("session").is_some() {
        return json!([event.kind, data["session"], data["key"], data["version"], data["written_by"]]);
    }
    let (scope, user) = (&data["scope"], &data["on_behalf_of"]);
    json!([event.kind, scope, data["key"], data["version"], data["size_bytes"], data["updated_by"], user])
}

/// What is different every time.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["created_at", "updated_at", "published_at", "written_at", "publication_id"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

async fn live(seed: u64) -> BTreeSet<(&'static str, &'static str)> {
    let mut life = Life::new(seed).await;
    for step in 0..STEPS {
        life.doing = format!("seed {seed}, step {step}");
        if step == STEPS / 2 {
            life = Life { scene: life.scene.reopened().await, ..life };
        }
        life.step().await;
    }
    life.look_back().await;
    life.seen
}

#[tokio::test]
async fn nobody_is_told_what_is_somebody_elses_and_every_answer_is_right() {
    keep_logs();
    let seeds = if std::env::var_os("LONGHOUSE_SOAK").is_some() { 100 } else { 5 };
    let mut seen = BTreeSet::new();
    for seed in 1..=seeds {
        seen.extend(live(seed).await);
    }
    let (publish, recall) = ("publish", "recall");
    for ending in [
        ("write", ""),
        ("write", "VERSION_CONFLICT"),
        ("read", ""),
        ("read", "ITEM_NOT_FOUND"),
        ("list", ""),
        ("delete", ""),
        ("delete", "ITEM_NOT_FOUND"),
        (publish, ""),
        (publish, "over"),
        (publish, "renamed"),
        (publish, "FORBIDDEN"),
        (publish, "AGENT_NOT_FOUND"),
        (publish, "ITEM_NOT_FOUND"),
        (publish, "ITEM_EXISTS"),
        (recall, ""),
        (recall, "PUBLICATION_CHANGED"),
        (recall, "PUBLICATION_NOT_FOUND"),
        ("publications", ""),
        ("shared agents", ""),
        ("stranger", "PROJECT_NOT_FOUND"),
        ("stranger", "AGENT_NOT_FOUND"),
        ("nonsense", "INVALID_REQUEST"),
        ("session", "SESSION_NOT_FOUND"),
        ("offers", "shared"),
        ("offers", "private"),
        ("turn", "AGENT_HAS_DATA"),
        ("turn", "turned"),
        ("turn", "shown"),
        ("replace", "UNAUTHENTICATED"),
    ] {
        assert!(seen.contains(&ending), "{ending:?} never happened");
    }
}
