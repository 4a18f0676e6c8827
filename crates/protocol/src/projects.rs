//! Projects and the agents in them.

use crate::sessions::KeyConvention;
use domain::agents as words;
use domain::projects;
use domain::times::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Tells a field that is `null` from one that is left out.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// 1 to 100 characters, unique in the workspace.
    pub name: String,
    /// The caller's personal workspace if left out.
    pub workspace: Option<String>,
    /// What agents of its sessions are told about keys, where a session says nothing itself.
    pub key_conventions: Option<Vec<KeyConvention>>,
    /// `by_risk` if left out.
    pub approval: Option<ProjectApproval>,
}

/// Which calls of its agents on people's machines wait for a person.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectApproval {
    /// Those that change or run something.
    ByRisk,
    /// Every one, reading and listing, too.
    Always,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeProject {
    pub name: Option<String>,
    /// `null` takes them away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<KeyConvention>>)]
    pub key_conventions: Option<Option<Vec<KeyConvention>>>,
    /// Applies to the next call, and to one that nobody was asked about and that has not gone out.
    pub approval: Option<ProjectApproval>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WorkerSpace {
    /// `ready`.
    pub status: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Project {
    pub id: String,
    pub name: String,
    pub workspace: String,
    pub created_by: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_conventions: Option<Vec<KeyConvention>>,
    pub approval: ProjectApproval,
    pub worker_space: WorkerSpace,
    pub agents: Vec<Agent>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ProjectList {
    pub items: Vec<Project>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Works on the items of the person it runs for.
    Private,
    /// Has one memory of its own, for all.
    Shared,
}

/// Who may see a shared agent and publish to it; talking to it needs membership.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    Workspace,
    Everyone,
}

/// What a new agent is like (only `name` is needed), or what changes about one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentChoice {
    /// A letter, then at most 63 of `a-z 0-9 _`; unique in the project.
    pub name: Option<String>,
    pub role: Option<String>,
    pub model: Option<String>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    /// `null` takes it away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub system_prompt: Option<Option<String>>,
    /// 1 to 10, default 3.
    pub concurrency_limit: Option<u64>,
    /// `private` if left out.
    pub visibility: Option<Visibility>,
    /// `workspace` if left out; `everyone` is for shared agents.
    pub audience: Option<Audience>,
    /// The only tools it may use; `null` takes the list away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>)]
    pub tools: Option<Option<Vec<String>>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    pub id: String,
    pub project: String,
    pub name: String,
    pub role: String,
    pub model: String,
    pub temperature: f64,
    pub max_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    pub concurrency_limit: u64,
    pub visibility: Visibility,
    pub audience: Audience,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AgentList {
    pub items: Vec<Agent>,
    pub next_cursor: Option<String>,
}

/// A shared agent as those see it who may publish to it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SharedAgent {
    pub id: String,
    pub name: String,
    pub role: String,
    pub audience: Audience,
    /// Who made it.
    pub owner: String,
    /// Whether you are a member of its workspace, and may talk to it.
    pub member: bool,
    /// For members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// For members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SharedAgentList {
    pub items: Vec<SharedAgent>,
    pub next_cursor: Option<String>,
}

macro_rules! same_words {
    ($words:ident::$name:ident { $($variant:ident),* }) => {
        impl From<$name> for $words::$name {
            fn from(word: $name) -> Self {
                match word { $($name::$variant => Self::$variant),* }
            }
        }

        impl From<$words::$name> for $name {
            fn from(word: $words::$name) -> Self {
                match word { $($words::$name::$variant => Self::$variant),* }
            }
        }
    };
}
same_words!(words::Visibility { Private, Shared });
same_words!(words::Audience { Workspace, Everyone });
same_words!(projects::ProjectApproval { ByRisk, Always });

impl From<AgentChoice> for words::AgentChoice {
    fn from(choice: AgentChoice) -> Self {
        Self {
            name: choice.name,
            role: choice.role,
            model: choice.model,
            temperature: choice.temperature,
            max_tokens: choice.max_tokens,
            system_prompt: choice.system_prompt,
            concurrency_limit: choice.concurrency_limit,
            visibility: choice.visibility.map(Into::into),
            audience: choice.audience.map(Into::into),
            tools: choice.tools,
        }
    }
}

impl From<words::Agent> for Agent {
    fn from(agent: words::Agent) -> Self {
        let settings = agent.settings;
        Self {
            id: agent.id.as_str().to_owned(),
            project: agent.project.as_str().to_owned(),
            name: agent.name,
            role: settings.role,
            model: settings.model,
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            system_prompt: settings.system_prompt,
            concurrency_limit: settings.concurrency_limit,
            visibility: agent.visibility.into(),
            audience: agent.audience.into(),
            tools: settings.tools,
            created_at: agent.created_at,
            updated_at: agent.updated_at,
        }
    }
}

impl Project {
    pub fn new(project: projects::Project, agents: Vec<words::Agent>, worker_space: &str) -> Self {
        let conventions = project.key_conventions;
        Self {
            id: project.id.as_str().to_owned(),
            name: project.name,
            workspace: project.workspace.as_str().to_owned(),
            created_by: project.created_by.as_str().to_owned(),
            created_at: project.created_at,
            key_conventions: conventions.map(|list| list.into_iter().map(Into::into).collect()),
            approval: project.approval.into(),
            worker_space: WorkerSpace { status: worker_space.to_owned() },
            agents: agents.into_iter().map(Into::into).collect(),
        }
    }
}

impl SharedAgent {
    pub fn new(agent: words::Agent, member: bool) -> Self {
        Self {
            id: agent.id.as_str().to_owned(),
            name: agent.name,
            role: agent.settings.role,
            audience: agent.audience.into(),
            owner: agent.created_by.as_str().to_owned(),
            member,
            project: member.then(|| agent.project.as_str().to_owned()),
            workspace: member.then(|| agent.workspace.as_str().to_owned()),
        }
    }
}
