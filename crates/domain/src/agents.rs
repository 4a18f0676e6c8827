//! Agents: a configured model role in a project, `private` or `shared`, and the starter pack of every project.

use crate::ids::{AgentId, ProjectId, UserId, WorkspaceId, is_word};
use crate::items::ItemScope;
use crate::participants::Participant;
use crate::sessions::check_text;
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

pub const AGENTS_MOST: u64 = 100;
const TEXT_LONGEST: usize = 200;
const PROMPT_LONGEST: usize = 32 * 1024;
const MAX_TOKENS_MOST: u64 = 1_000_000;
const CONCURRENCY_MOST: u64 = 10;
const TOOLS_MOST: usize = 100;

/// Whose memory an agent works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// That of the person it runs for.
    Private,
    /// Its own, one for all.
    Shared,
}

impl Visibility {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Shared => "shared",
        }
    }
}

/// Who may see a shared agent and publish to it. Talking to it needs membership in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    Workspace,
    Everyone,
}

impl Audience {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Everyone => "everyone",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSettings {
    pub role: String,
    pub model: String,
    pub temperature: f64,
    pub max_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    pub concurrency_limit: u64,
    /// The only tools it may use, if any are named. Narrows, never widens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub id: AgentId,
    pub name: String,
    pub visibility: Visibility,
    pub audience: Audience,
    pub settings: AgentSettings,
    pub created_by: UserId,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Agent {
    /// Whose items it works on for `user`. The one place where this is decided.
    pub fn item_scope(&self, user: &UserId) -> ItemScope {
        match self.visibility {
            Visibility::Private => ItemScope::of_user(user),
            Visibility::Shared => ItemScope::of_agent(self),
        }
    }

    /// What it is called in a session unless its token says otherwise.
    pub fn participant(&self) -> Participant {
        Participant::of_agent(&self.name)
    }
}

pub fn exists() -> Refusal {
    Refusal::new(Code::AgentExists, "this project has an agent of that name already")
}

pub fn too_many() -> Refusal {
    Refusal::new(Code::StoreFull, format!("a project has at most {AGENTS_MOST} agents: delete one first"))
}

pub fn has_data() -> Refusal {
    let message = "this agent has created items, or holds some: it cannot change between private and shared while they \
                   exist; delete them, or make another agent";
    Refusal::new(Code::AgentHasData, message)
}

/// What a creator or a change says about an agent; what it leaves out has its default, or stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentChoice {
    pub name: Option<String>,
    pub role: Option<String>,
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    /// `Some(None)` takes it away.
    pub system_prompt: Option<Option<String>>,
    pub concurrency_limit: Option<u64>,
    pub visibility: Option<Visibility>,
    pub audience: Option<Audience>,
    /// `Some(None)` takes the list away.
    pub tools: Option<Option<Vec<String>>>,
}

/// Everything about an agent that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentShape {
    pub name: String,
    pub visibility: Visibility,
    pub audience: Audience,
    pub settings: AgentSettings,
}

impl AgentShape {
    fn new(name: &str, role: &str, temperature: f64, max_tokens: u64) -> Self {
        let settings = AgentSettings {
            role: role.to_owned(),
            model: MODEL_DEFAULT.to_owned(),
            temperature,
            max_tokens,
            system_prompt: None,
            concurrency_limit: 3,
            tools: None,
        };
        Self { name: name.to_owned(), visibility: Visibility::Private, audience: Audience::Workspace, settings }
    }

    pub fn of(agent: &Agent) -> Self {
        Self {
            name: agent.name.clone(),
            visibility: agent.visibility,
            audience: agent.audience,
            settings: agent.settings.clone(),
        }
    }

    /// An agent that was described by `choice` alone.
    pub fn create(choice: AgentChoice) -> Result<Self> {
        if choice.name.is_none() {
            return Err(Refusal::invalid_field("name", "`name` is missing"));
        }
        Self::new("", "assistant", 0.7, 2048).change(choice)
    }

    pub fn change(self, choice: AgentChoice) -> Result<Self> {
        let before = self.settings;
        let visibility = choice.visibility.unwrap_or(self.visibility);
        // An agent that is no longer shared has no audience to keep.
        let kept = if visibility == Visibility::Private { Audience::Workspace } else { self.audience };
        let shape = Self {
            name: choice.name.unwrap_or(self.name),
            visibility,
            audience: choice.audience.unwrap_or(kept),
            settings: AgentSettings {
                role: choice.role.unwrap_or(before.role),
                model: choice.model.unwrap_or(before.model),
                temperature: choice.temperature.unwrap_or(before.temperature),
                max_tokens: choice.max_tokens.unwrap_or(before.max_tokens),
                system_prompt: choice.system_prompt.unwrap_or(before.system_prompt),
                concurrency_limit: choice.concurrency_limit.unwrap_or(before.concurrency_limit),
                tools: choice.tools.unwrap_or(before.tools),
            },
        };
        shape.check()?;
        Ok(shape)
    }

    fn check(&self) -> Result<()> {
        let name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !is_word(&self.name, 64, name) || !self.name.as_bytes()[0].is_ascii_lowercase() {
            let message = "an agent's name starts with a letter and has 1 to 64 of a-z, 0-9 and `_`";
            return Err(Refusal::invalid_field("name", message));
        }
        // One agent's name must not be another's id.
        if self.name.strip_prefix(AgentId::PREFIX).is_some_and(|rest| rest.len() == 32 && !rest.contains('_')) {
            return Err(Refusal::invalid_field("name", "an agent's name does not look like an id, `agt_…`"));
        }
        if self.visibility == Visibility::Private && self.audience == Audience::Everyone {
            let message = "`audience` is for shared agents: a private one has nobody to show itself to";
            return Err(Refusal::invalid_field("audience", message));
        }
        self.settings.check()
    }
}

impl AgentSettings {
    fn check(&self) -> Result<()> {
        for (field, text) in [("role", &self.role), ("model", &self.model)] {
            check_text(field, text, TEXT_LONGEST)?;
            if text.is_empty() {
                return Err(Refusal::invalid_field(field, format!("`{field}` is empty")));
            }
        }
        if !(0.0..=2.0).contains(&self.temperature) {
            return Err(Refusal::invalid_field("temperature", "`temperature` is from 0 to 2"));
        }
        let numbers = [
            ("max_tokens", self.max_tokens, MAX_TOKENS_MOST),
            ("concurrency_limit", self.concurrency_limit, CONCURRENCY_MOST),
        ];
        for (field, number, most) in numbers {
            if !(1..=most).contains(&number) {
                return Err(Refusal::invalid_field(field, format!("`{field}` is a whole number from 1 to {most}")));
            }
        }
        if self.system_prompt.as_ref().is_some_and(|text| text.len() > PROMPT_LONGEST || text.contains('\0')) {
            let message = format!("`system_prompt` is text of at most {PROMPT_LONGEST} bytes");
            return Err(Refusal::invalid_field("system_prompt", message));
        }
        self.check_tools()
    }

    fn check_tools(&self) -> Result<()> {
        let Some(tools) = &self.tools else { return Ok(()) };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'*');
        if tools.len() > TOOLS_MOST || !tools.iter().all(|tool| is_word(tool, 128, allowed)) {
            let message =
                format!("`tools` is a list of at most {TOOLS_MOST} names such as `workspace_read` or `web.*`");
            return Err(Refusal::invalid_field("tools", message));
        }
        Ok(())
    }
}

const MODEL_DEFAULT: &str = "gpt-4";

/// The agents that every new project begins with.
pub fn starter_pack(model: Option<&str>) -> [AgentShape; 4] {
    let mut pack = [
        AgentShape::new("agent_coder", "developer", 0.3, 4096),
        AgentShape::new("agent_analyzer", "analyst", 0.5, 2048),
        AgentShape::new("agent_writer", "writer", 0.7, 2048),
        AgentShape::new("agent_researcher", "researcher", 0.6, 3096),
    ];
    if let Some(model) = model {
        pack.iter_mut().for_each(|shape| shape.settings.model = model.to_owned());
    }
    pack
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> AgentChoice {
        AgentChoice { name: Some(name.to_owned()), ..Default::default() }
    }

    #[test]
    fn every_field_has_its_range() {
        let base = || named("a");
        let bad = [
            ("name", AgentChoice::default()),
            ("name", named("")),
            ("name", named("A")),
            ("name", named("1a")),
            ("name", named("_a")),
            ("name", named("a-b")),
            ("name", named("a\n")),
            ("name", named("agt_01a1e1a9d1ca76cda2064fef5afe1dfd")),
            ("name", named(&"a".repeat(65))),
            ("role", AgentChoice { role: Some(String::new()), ..base() }),
            ("model", AgentChoice { model: Some("x".repeat(201)), ..base() }),
            ("temperature", AgentChoice { temperature: Some(2.1), ..base() }),
            ("temperature", AgentChoice { temperature: Some(-0.1), ..base() }),
            ("max_tokens", AgentChoice { max_tokens: Some(0), ..base() }),
            ("concurrency_limit", AgentChoice { concurrency_limit: Some(11), ..base() }),
            ("concurrency_limit", AgentChoice { concurrency_limit: Some(0), ..base() }),
            ("system_prompt", AgentChoice { system_prompt: Some(Some("x".repeat(40_000))), ..base() }),
            ("audience", AgentChoice { audience: Some(Audience::Everyone), ..base() }),
            ("tools", AgentChoice { tools: Some(Some(vec!["a b".into()])), ..base() }),
        ];
        for (field, choice) in bad {
            let refusal = AgentShape::create(choice.clone()).unwrap_err();
            assert_eq!(refusal.details["field"], field, "{choice:?}");
        }
        assert!(AgentShape::create(base()).is_ok());
    }

    #[test]
    fn an_agent_that_becomes_private_loses_its_audience() {
        let shared =
            AgentChoice { visibility: Some(Visibility::Shared), audience: Some(Audience::Everyone), ..named("a") };
        let shape = AgentShape::create(shared).unwrap();
        let private = AgentChoice { visibility: Some(Visibility::Private), ..Default::default() };
        assert_eq!(shape.change(private).unwrap().audience, Audience::Workspace);
    }
}
