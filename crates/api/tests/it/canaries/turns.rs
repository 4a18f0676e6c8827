//! What is done besides items: agents take part in sessions, become private or shared, go and are replaced.

use super::Life;
use super::markers::{self, Mark};
use super::model::Told;
use super::scene::{Agent, Scene};
use serde_json::json;

impl Life {
    /// An agent in a session: writes, reads, lists and is told what agents are told.
    pub(super) async fn meet(&mut self) {
        let (person, agent) = loop {
            let (person, agent, _) = self.hand();
            if !self.random.once_in(3) || agent.shared {
                break (person, agent);
            }
        };
        let session = self.random.index(self.scene.sessions.len());
        let id = self.scene.sessions[session].id.clone();
        let token = self.scene.token(person, &agent).to_owned();
        self.doing += &format!(": {} for {} in {id}", agent.name, self.scene.people[person].name);
        let keys = self.model.context_keys(&id);
        let key = self.random.one_of(&keys).clone();
        let requests = [json!({"action": "list_keys"}), json!({"action": "read", "key": key})];
        let mut answers = vec![self.scene.world.get(&format!("/sessions/{id}/prompt")).by(&token).send().await];
        for request in &requests {
            answers.push(self.scene.world.context(&token, &id, request).send().await);
        }
        if !self.scene.is_joined_by(&self.scene.sessions[session], &agent) {
            for answer in answers {
                self.heard(&answer, &Err("SESSION_NOT_FOUND"), &[]);
            }
            return;
        }
        for answer in &answers {
            assert_eq!(answer.status, 200, "{}: {}", self.doing, answer.text);
            let found = markers::found(&answer.text);
            assert!(self.leaked(&found, &[&id]).is_empty(), "{}: {}", self.doing, answer.text);
        }
        assert_eq!(super::super::room::names(&answers[1].json()["keys"]), keys, "{}", self.doing);
        let (value, version) = self.model.context(&id, &key).expect("an entry");
        assert_eq!((&answers[2].json()["value"], &answers[2].json()["version"]), (&json!(value), &json!(version)));
        let key = format!("k{}", self.random.below(3));
        self.write_context(session, &token, &key, &format!("subagent:{}", agent.name)).await;
    }

    /// The creator of the first project of that workspace says something in a session.
    pub(super) async fn talk(&mut self, session: usize, key: &str) {
        let workspace = self.scene.sessions[session].workspace;
        let place = self.scene.projects.iter().find(|place| place.workspace == workspace).expect("a project");
        let person = &self.scene.people[place.creator];
        let (token, participant) = (person.token.clone(), format!("user:{}", person.user()));
        self.write_context(session, &token, key, &participant).await;
    }

    async fn write_context(&mut self, session: usize, token: &str, key: &str, participant: &str) {
        let id = self.scene.sessions[session].id.clone();
        let value = self.fresh(Mark::Value, 's');
        let written = self.scene.world.write(token, &id, key, &value).await;
        let version = self.model.write_context(&id, key, &value);
        assert_eq!((&written["version"], &written["written_by"]), (&json!(version), &json!(participant)));
        let session = &self.scene.sessions[session];
        let told = Told {
            workspace: session.workspace.to_owned(),
            project: session.project.map(|project| self.scene.projects[project].id.clone()),
            of: id.clone(),
            what: json!(["CONTEXT_WRITTEN", id, key, version, participant]),
        };
        self.model.told.push(told);
    }

    /// Its creator makes a private agent shared, a shared one private, or shows one to others.
    pub(super) async fn turn_agent(&mut self) {
        let at = self.agent();
        let agent = self.scene.agents[at].clone();
        let everyone = self.random.once_in(2);
        let audience = if everyone { "everyone" } else { "workspace" };
        let (change, shared) = match (agent.shared, self.random.once_in(2)) {
            (true, true) => (json!({"audience": audience}), true),
            (true, false) => (json!({"visibility": "private"}), false),
            (false, _) => (json!({"visibility": "shared", "audience": audience}), true),
        };
        self.doing += &format!(": {} becomes {change}", agent.name);
        let place = self.scene.place(&agent);
        let (creator, path) = (place.creator, format!("/my/projects/{}/agents/{}", place.id, agent.id));
        let answer = self.scene.world.patch(&path, &change).by(&self.scene.people[creator].token).send().await;
        if shared != agent.shared && self.model.has_data(&agent.id, agent.shared) {
            self.heard(&answer, &Err("AGENT_HAS_DATA"), &[]);
            return;
        }
        answer.ok();
        self.seen.insert((self.kind, if shared == agent.shared { "shown" } else { "turned" }));
        let turned = shared != agent.shared;
        let agent = &mut self.scene.agents[at];
        agent.shared = shared;
        agent.everyone = shared && everyone;
        if turned {
            let (old, agent) =
                (self.scene.token(creator, &self.scene.agents[at]).to_owned(), self.scene.agents[at].clone());
            self.scene.hand_out_tokens(at).await;
            let answer = self.call_by_http(&old, &agent, "workspace_list", &json!({})).await;
            self.heard(&answer, &Err("UNAUTHENTICATED"), &[]);
        }
    }

    /// An agent goes, its tokens with it, and another of its name comes, which is again what that name once was.
    pub(super) async fn replace_agent(&mut self) {
        let at = self.agent();
        let Agent { id, name, project, .. } = self.scene.agents[at].clone();
        self.doing += &format!(": {name} is replaced");
        let place = &self.scene.projects[project];
        let (creator, path) = (place.creator, format!("/my/projects/{}/agents/{name}", place.id));
        let old = self.scene.token(creator, &self.scene.agents[at]).to_owned();
        self.scene.world.delete(&path).by(&self.scene.people[creator].token).send().await.ok();
        let gone = self.scene.agents.remove(at);
        self.model.remove_agent(&id);
        let (shared, everyone) = Scene::at_first(&name);
        self.scene.hire(project, &name, shared, everyone).await;
        let answer = self.call_by_http(&old, &gone, "workspace_list", &json!({})).await;
        self.heard(&answer, &Err("UNAUTHENTICATED"), &[]);
    }
}
