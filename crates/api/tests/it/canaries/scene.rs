//! Three people who know each other in part: ann and bea are a team, bea and cy a club. Each has a project, with private
//! and shared agents.

use super::markers::{Mark, Markers};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::World;

pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) letter: char,
    pub(super) token: String,
    /// What this person's private items are called.
    pub(super) keys: Vec<String>,
}

impl Person {
    pub(super) fn user(&self) -> String {
        format!("usr_{}", self.name)
    }

    pub(super) fn scope(&self) -> String {
        format!("user-{}", self.user())
    }

    pub(super) fn workspace(&self) -> String {
        format!("personal-{}", self.user())
    }
}

pub(super) struct Project {
    pub(super) name: &'static str,
    pub(super) id: String,
    pub(super) workspace: &'static str,
    pub(super) creator: usize,
}

#[derive(Clone)]
pub(super) struct Agent {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) role: String,
    pub(super) project: usize,
    pub(super) shared: bool,
    pub(super) everyone: bool,
    pub(super) prompt: String,
}

pub(super) struct Session {
    pub(super) id: String,
    pub(super) workspace: &'static str,
    pub(super) project: Option<usize>,
}

pub(super) struct Scene {
    pub(super) world: World,
    pub(super) people: Vec<Person>,
    pub(super) projects: Vec<Project>,
    pub(super) agents: Vec<Agent>,
    pub(super) sessions: Vec<Session>,
    /// The token of an agent on behalf of a person.
    tokens: BTreeMap<(usize, String), String>,
    pub(super) markers: Markers,
}

const PEOPLE: [(&str, char); 3] = [("ann", 'a'), ("bea", 'b'), ("cy", 'c')];
const PROJECTS: [(&str, &str); 3] = [("anns", "team"), ("beas", "club"), ("cys", "personal-usr_cy")];
const AGENTS: [(&str, bool, bool); 4] =
    [("drafts", false, false), ("notes", false, false), ("board", true, false), ("wall", true, true)];

impl Scene {
    pub(super) async fn new() -> Self {
        let world = World::new().await;
        let mut scene = Self {
            world,
            people: Vec::new(),
            projects: Vec::new(),
            agents: Vec::new(),
            sessions: Vec::new(),
            tokens: BTreeMap::new(),
            markers: Markers::default(),
        };
        for (name, letter) in PEOPLE {
            let token = scene.world.member(name).await;
            let keys = (0..5).map(|_| format!("{} list", scene.markers.fresh(Mark::Key, letter))).collect();
            scene.people.push(Person { name, letter, token, keys });
        }
        scene.world.workspace("team", &["ann", "bea"]).await;
        scene.world.workspace("club", &["bea", "cy"]).await;
        for (creator, (name, workspace)) in PROJECTS.into_iter().enumerate() {
            scene.found(creator, name, workspace).await;
        }
        scene
    }

    async fn found(&mut self, creator: usize, name: &'static str, workspace: &'static str) {
        let token = &self.people[creator].token;
        let body = json!({"name": name, "workspace": workspace});
        let made = self.world.post("/my/projects", &body).by(token).send().await.ok();
        let id = made["id"].as_str().expect("an id").to_owned();
        // One session in the project and one that any project's agents may join.
        for (session, project) in [(format!("{name}-work"), Some(creator)), (format!("{name}-talk"), None)] {
            let body = json!({"id": session, "workspace": workspace, "project": project.map(|_| &id)});
            self.world.post("/sessions", &body).by(token).send().await.ok();
            self.sessions.push(Session { id: session, workspace, project });
        }
        self.projects.push(Project { name, id, workspace, creator });
        for (name, shared, everyone) in AGENTS {
            self.hire(creator, name, shared, everyone).await;
        }
    }

    /// Makes an agent, and a token of it for everybody who may use it.
    pub(super) async fn hire(&mut self, project: usize, name: &str, shared: bool, everyone: bool) {
        let (place, letter) = (&self.projects[project], self.people[project].letter);
        let prompt = self.markers.fresh(Mark::Prompt, letter);
        let visibility = if shared { "shared" } else { "private" };
        let mut choice = json!({"name": name, "visibility": visibility, "system_prompt": prompt});
        if everyone {
            choice["audience"] = json!("everyone");
        }
        let made = self.world.agent(&self.people[place.creator].token, place.name, choice).await;
        let text = |field: &str| made[field].as_str().expect("text").to_owned();
        let agent = Agent { id: text("id"), name: text("name"), role: text("role"), project, shared, everyone, prompt };
        self.agents.push(agent);
        self.hand_out_tokens(self.agents.len() - 1).await;
    }

    /// Everybody who may use an agent gets a token for it.
    pub(super) async fn hand_out_tokens(&mut self, at: usize) {
        let agent = self.agents[at].clone();
        for person in 0..self.people.len() {
            if self.may_use(person, &agent) {
                let wanted = json!({"agent": agent.id, "ttl": "20h"});
                let token = self.world.agent_token(&self.people[person].token, wanted).await;
                self.tokens.insert((person, agent.id.clone()), token);
            }
        }
    }

    /// Whether an agent of that name begins as shared, and with everyone.
    pub(super) fn at_first(name: &str) -> (bool, bool) {
        let (_, shared, everyone) = AGENTS.into_iter().find(|(known, ..)| *known == name).expect("a name");
        (shared, everyone)
    }

    /// The house is closed and opened again.
    pub(super) async fn reopened(self) -> Self {
        let world = self.world.reopened().await;
        // No house is that quick; ids are in order of time from one start to the next.
        world.clock.advance_s(1);
        Self { world, ..self }
    }

    pub(super) fn is_member(&self, person: usize, workspace: &str) -> bool {
        match workspace {
            "team" => person < 2,
            "club" => person > 0,
            own => self.people[person].workspace() == own,
        }
    }

    pub(super) fn place(&self, agent: &Agent) -> &Project {
        &self.projects[agent.project]
    }

    pub(super) fn may_use(&self, person: usize, agent: &Agent) -> bool {
        self.is_member(person, self.place(agent).workspace)
    }

    pub(super) fn may_see(&self, person: usize, agent: &Agent) -> bool {
        agent.everyone || self.may_use(person, agent)
    }

    /// Whose items an agent works on for a person: told here a second time, from the spec.
    pub(super) fn scope(&self, person: usize, agent: &Agent) -> String {
        if agent.shared { format!("agent-{}", agent.id) } else { self.people[person].scope() }
    }

    pub(super) fn scope_workspace(&self, person: usize, agent: &Agent) -> String {
        if agent.shared { self.place(agent).workspace.to_owned() } else { self.people[person].workspace() }
    }

    pub(super) fn token(&self, person: usize, agent: &Agent) -> &str {
        &self.tokens[&(person, agent.id.clone())]
    }

    pub(super) fn is_joined_by(&self, session: &Session, agent: &Agent) -> bool {
        session.workspace == self.place(agent).workspace
            && session.project.is_none_or(|project| project == agent.project)
    }

    /// What `/agents/shared` has for a person.
    pub(super) fn shown_to(&self, person: usize) -> Value {
        let mut seen: Vec<&Agent> =
            self.agents.iter().filter(|agent| agent.shared && self.may_see(person, agent)).collect();
        seen.sort_by_key(|agent| &agent.id);
        let items = seen.into_iter().map(|agent| {
            let audience = if agent.everyone { "everyone" } else { "workspace" };
            let mut shown = json!({"id": agent.id, "name": agent.name, "role": agent.role, "audience": audience,
                                   "owner": format!("usr_{}", self.people[self.place(agent).creator].name), "member": self.may_use(person, agent)});
            if self.may_use(person, agent) {
                shown["project"] = json!(self.place(agent).id);
                shown["workspace"] = json!(self.place(agent).workspace);
            }
            shown
        });
        json!({"items": items.collect::<Vec<_>>(), "next_cursor": null})
    }
}
