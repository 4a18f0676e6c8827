//! What is done in a life, one request at a time.

use super::Life;
use super::markers::{self, Mark};
use super::scene::Agent;
use crate::it::mcp::clients::{Client, NEW};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What is done, and how often in a hundred.
const KINDS: [(&str, u64); 15] = [
    ("write", 23),
    ("read", 10),
    ("list", 6),
    ("delete", 8),
    ("publish", 14),
    ("recall", 6),
    ("publications", 4),
    ("shared agents", 4),
    ("project", 4),
    ("stranger", 5),
    ("nonsense", 4),
    ("offers", 3),
    ("session", 5),
    ("turn", 3),
    ("replace", 1),
];

impl Life {
    pub(super) async fn step(&mut self) {
        let kinds = KINDS.into_iter().flat_map(|(kind, share)| (0..share).map(move |_| kind));
        self.kind = kinds.collect::<Vec<_>>()[self.random.index(100)];
        match self.kind {
            "write" => self.write().await,
            "read" => self.read().await,
            "list" => self.list().await,
            "delete" => self.delete().await,
            "publish" => self.publish().await,
            "recall" => self.recall().await,
            "publications" => self.look_at_publications().await,
            "shared agents" => self.look_at_shared_agents().await,
            "project" => self.look_at_a_project().await,
            "stranger" => self.try_a_strangers_agent().await,
            "nonsense" => self.say_nonsense().await,
            "session" => self.meet().await,
            "offers" => self.look_at_offers().await,
            "turn" => self.turn_agent().await,
            _ => self.replace_agent().await,
        }
    }

    async fn write(&mut self) {
        let (person, agent, token) = self.hand();
        let acting = self.acting(person, &agent);
        let key = match self.random.below(6) {
            0 => self.any_key(&acting.scope),
            // A shared agent is told keys by people, too; mostly it has its own.
            _ if agent.shared => format!("notice {}", self.random.below(4)),
            _ => self.private_key(person),
        };
        let letter = if agent.shared { 's' } else { self.scene.people[person].letter };
        let length = self.random.index(60);
        let value = format!("{} {}", self.fresh(Mark::Value, letter), "é".repeat(length));
        let expected = match self.random.below(5) {
            0 => Some(self.model.version(&acting.scope, &key)),
            1 => Some(self.random.below(4)),
            _ => None,
        };
        self.doing += &format!(": {} writes {key} in {}", acting.user, acting.scope);
        let request = json!({"key": key, "value": value, "if_version": expected});
        let answer = self.call(&token, &agent, "workspace_write", &request).await;
        let outcome = self.model.write(&acting, &key, &value, expected);
        self.heard(&answer, &outcome, &[&acting.scope]);
    }

    async fn read(&mut self) {
        let (person, agent, token) = self.hand();
        let scope = self.scene.scope(person, &agent);
        let key = self.any_key(&scope);
        self.doing += &format!(": {} reads {key} in {scope}", self.scene.people[person].name);
        let answer = self.call(&token, &agent, "workspace_read", &json!({"key": key})).await;
        let outcome = self.model.read(&scope, &key);
        self.heard(&answer, &outcome, &[&scope]);
    }

    async fn list(&mut self) {
        let (person, agent, token) = self.hand();
        self.look_at_list(person, &agent, &token).await;
    }

    async fn look_at_list(&mut self, person: usize, agent: &Agent, token: &str) {
        let scope = self.scene.scope(person, agent);
        self.doing += &format!(": {} lists {scope}", self.scene.people[person].name);
        let answer = self.call(token, agent, "workspace_list", &json!({})).await;
        let outcome = Ok(self.model.list(&scope));
        self.heard(&answer, &outcome, &[&scope]);
    }

    async fn delete(&mut self) {
        let (person, agent, token) = self.hand();
        let acting = self.acting(person, &agent);
        let key = self.any_key(&acting.scope);
        self.doing += &format!(": {} deletes {key} in {}", acting.user, acting.scope);
        let answer = self.call(&token, &agent, "workspace_delete", &json!({"key": key})).await;
        let outcome = self.model.delete(&acting, &key);
        self.heard(&answer, &outcome, &[&acting.scope]);
    }

    async fn publish(&mut self) {
        let (person, agent, token) = self.private_hand();
        let acting = self.acting(person, &agent);
        let target = self.target(person);
        let key = self.any_key(&acting.scope);
        let target_key = match self.random.below(4) {
            0 | 1 => None,
            2 => Some(format!("notice {}", self.random.below(4))),
            _ => Some(self.private_key(person)),
        };
        let over = self.random.once_in(3);
        let request = json!({"key": key, "target_agent_id": target.id, "target_key": target_key, "overwrite": over});
        self.doing += &format!(": {} publishes {request} from {}", acting.user, acting.scope);
        let answer = self.call(&token, &agent, "workspace_publish", &request).await;
        let outcome = if agent.shared {
            Err("FORBIDDEN")
        } else if !self.scene.may_see(person, &target) {
            Err("AGENT_NOT_FOUND")
        } else if !target.shared {
            Err("FORBIDDEN")
        } else {
            let mut to = self.acting(person, &target);
            to.agent.clone_from(&acting.agent);
            let keys = (key.as_str(), target_key.as_deref().unwrap_or(&key));
            let is_member = self.scene.may_use(person, &target);
            self.model.publish(&acting, &to, &target.id, keys, (over, is_member))
        };
        if outcome.is_ok() {
            let id = answer.json()["publication_id"].as_str().expect("a publication").to_owned();
            self.model.publications.last_mut().expect("just made").id = id;
        }
        self.heard(&answer, &outcome, &[&acting.scope]);
        if outcome.is_ok() && target_key.is_some_and(|target_key| target_key != key) {
            self.seen.insert((self.kind, "renamed"));
        }
        // Somebody over there looks at what has come.
        if outcome.is_ok() && self.random.once_in(2) {
            let reader = (0..3).find(|reader| self.scene.may_use(*reader, &target)).expect("somebody");
            let token = self.scene.token(reader, &target).to_owned();
            self.look_at_list(reader, &target, &token).await;
        }
    }

    /// Mostly a private agent, which alone may publish.
    fn private_hand(&mut self) -> (usize, Agent, String) {
        loop {
            let hand = self.hand();
            if !hand.1.shared || self.random.once_in(10) {
                return hand;
            }
        }
    }

    /// Mostly an agent that may be published to.
    fn target(&mut self, person: usize) -> Agent {
        loop {
            let target = self.agent();
            let target = &self.scene.agents[target];
            if (target.shared && self.scene.may_see(person, target)) || self.random.once_in(6) {
                return target.clone();
            }
        }
    }

    async fn recall(&mut self) {
        if self.model.publications.is_empty() {
            return;
        }
        let at = self.random.index(self.model.publications.len());
        let publication = &self.model.publications[at];
        let own = self.scene.people.iter().position(|person| person.user() == publication.user).expect("somebody");
        let (id, target) = (publication.id.clone(), publication.target.clone());
        let person = if self.random.once_in(4) { self.person() } else { own };
        let target = self.scene.agents.iter().find(|agent| agent.id == target).expect("a target").clone();
        self.doing += &format!(": {} recalls {id}", self.scene.people[person].name);
        let ask = self.scene.world.delete(&format!("/my/publications/{id}")).by(&self.scene.people[person].token);
        let answer = ask.send().await;
        let to = target.shared.then(|| self.acting(person, &target));
        let outcome = self.model.recall(at, &self.scene.people[person].user(), to);
        self.heard(&answer, &outcome, &[]);
    }

    async fn look_at_publications(&mut self) {
        let person = self.person();
        let (token, user, scope) =
            (&self.scene.people[person].token, self.scene.people[person].user(), self.scene.people[person].scope());
        self.doing += &format!(": {user} looks at publications");
        let answer = self.scene.world.get("/my/publications?limit=500").by(token).send().await;
        let outcome = Ok(self.model.published_by(&user));
        self.heard(&answer, &outcome, &[&scope]);
    }

    async fn look_at_shared_agents(&mut self) {
        let (person, agent, token) = self.hand();
        self.doing += &format!(": {} looks at shared agents by {}", self.scene.people[person].name, agent.name);
        let answer = self.scene.world.get("/agents/shared?limit=500").by(&token).send().await;
        // The person's own token is in the hand now and then, too.
        let by_agent = *self.scene.token(person, &agent) == token;
        let outcome = if by_agent && agent.shared { Err("FORBIDDEN") } else { Ok(self.scene.shown_to(person)) };
        self.heard(&answer, &outcome, &[]);
    }

    /// A member is shown the project with what its agents are told; a stranger nothing.
    async fn look_at_a_project(&mut self) {
        let (person, agent) = (self.person(), self.agent());
        let agent = self.scene.agents[agent].clone();
        let (place, token) = (self.scene.place(&agent), &self.scene.people[person].token);
        let paths = [place.id.clone(), format!("{}/agents", place.name), format!("{}/agents/{}", place.id, agent.id)];
        for path in paths {
            let answer = self.scene.world.get(&format!("/my/projects/{path}")).by(token).send().await;
            let found = markers::found(&answer.text);
            if self.scene.may_use(person, &agent) {
                assert_eq!(answer.status, 200, "{}", self.doing);
                let staff = self.scene.agents.iter().filter(|other| other.project == agent.project);
                let prompts: Vec<&str> = staff.map(|other| other.prompt.as_str()).collect();
                assert!(found.iter().all(|marker| prompts.contains(&marker.as_str())), "{}", answer.text);
                assert!(found.contains(&agent.prompt), "{}", answer.text);
            } else {
                assert_eq!((answer.code().as_str(), found.len()), ("PROJECT_NOT_FOUND", 0), "{}", answer.text);
            }
        }
    }

    /// With somebody else's keys, as a stranger or by a token for another agent.
    async fn try_a_strangers_agent(&mut self) {
        let (person, own, agent_token) = self.hand();
        let other = self.agent();
        let other = self.scene.agents[other].clone();
        let by_person = agent_token == self.scene.people[person].token;
        let code = match by_person {
            _ if own.id == other.id => return,
            true if self.scene.may_use(person, &other) => return,
            true => "PROJECT_NOT_FOUND",
            false if own.project == other.project => "AGENT_NOT_FOUND",
            false => "PROJECT_NOT_FOUND",
        };
        let creator = self.scene.place(&other).creator;
        let key = self.private_key(creator);
        self.doing += &format!(": {} tries {} of another", self.scene.people[person].name, other.name);
        for (tool, request) in every_tool(&key, &own.id) {
            let answer = self.call_by_http(&agent_token, &other, tool, &request).await;
            self.heard(&answer, &Err(code), &[]);
        }
    }

    /// Requests that are wrong in themselves, full of what must not be repeated.
    async fn say_nonsense(&mut self) {
        let (_, agent, token) = self.hand();
        let whose = self.person();
        let (key, scope) = (self.private_key(whose), self.scene.people[whose].scope());
        let value = self.fresh(Mark::Value, 's');
        let requests = [
            ("workspace_list", json!({"scope": scope}), "INVALID_REQUEST"),
            ("workspace_read", json!({"key": key, "workspace_id": scope}), "INVALID_REQUEST"),
            ("workspace_read", json!({"key": format!("{key}\n")}), "INVALID_KEY"),
            ("workspace_read", json!({"key": [key]}), "INVALID_REQUEST"),
            ("workspace_write", json!({"key": key, "value": {"a": value}}), "INVALID_REQUEST"),
            ("workspace_write", json!({"key": key, "value": value, "if_version": key}), "INVALID_REQUEST"),
            ("workspace_write", json!({"key": key, "value": value, "user_id": scope}), "INVALID_REQUEST"),
            ("workspace_write", json!({"key": key, "value": value.repeat(40_000)}), "VALUE_TOO_LARGE"),
            ("workspace_publish", json!({"key": key, "target_agent_id": 7}), "INVALID_REQUEST"),
            ("workspace_forget", json!({"key": key}), "TOOL_NOT_FOUND"),
        ];
        let (tool, request, code) = self.random.one_of(&requests).clone();
        self.doing += &format!(": nonsense {tool} {code}");
        // MCP refuses a tool that is not there before it is one.
        let answer = match code {
            "TOOL_NOT_FOUND" => self.call_by_http(&token, &agent, tool, &request).await,
            _ => self.call(&token, &agent, tool, &request).await,
        };
        self.heard(&answer, &Err(code), &[]);
    }

    /// What an agent is offered by MCP: tools, and its items as resources.
    async fn look_at_offers(&mut self) {
        let (person, agent, _) = self.hand();
        let scope = self.scene.scope(person, &agent);
        self.doing += &format!(": {} looks what MCP offers in {scope}", agent.name);
        let mut client = Client::new(&self.scene.world, self.scene.token(person, &agent), NEW).await;
        for method in ["tools/list", "prompts/list", "resources/templates/list"] {
            let offered = client.result(method, json!({})).await.to_string();
            assert!(markers::found(&offered).is_empty(), "{}: {method}: {offered}", self.doing);
        }
        let resources = client.result("resources/list", json!({})).await["resources"].clone();
        let found = markers::found(&resources.to_string());
        assert!(self.leaked(&found, &[&scope]).is_empty(), "{}: {resources}", self.doing);
        let names = resources.as_array().expect("resources").iter().map(|resource| resource["name"].as_str());
        let names: BTreeSet<&str> = names.map(|name| name.expect("a name")).collect();
        let keys = self.model.keys(&scope);
        assert_eq!(names, keys.iter().map(String::as_str).collect(), "{}", self.doing);
        self.seen.insert((self.kind, if agent.shared { "shared" } else { "private" }));
    }
}

fn every_tool(key: &str, target: &str) -> [(&'static str, Value); 5] {
    [
        ("workspace_list", json!({})),
        ("workspace_read", json!({"key": key})),
        ("workspace_write", json!({"key": key, "value": "x"})),
        ("workspace_delete", json!({"key": key})),
        ("workspace_publish", json!({"key": key, "target_agent_id": target})),
    ]
}
