//! The tools that the platform itself gives to agents. One table: doors, schemas and policy read it.

use crate::{Code, Refusal};

/// What answers a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A session's shared context; called through the session.
    SharedContext,
    /// Workspace items.
    Items,
    /// Recall; the names are kept for it.
    Recall,
    /// The skills of the agent's workspace.
    Skills,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformTool {
    pub name: &'static str,
    pub family: Family,
}

pub const SHARED_CONTEXT: &str = "shared_context";
pub const WORKSPACE_LIST: &str = "workspace_list";
pub const WORKSPACE_READ: &str = "workspace_read";
pub const WORKSPACE_WRITE: &str = "workspace_write";
pub const WORKSPACE_DELETE: &str = "workspace_delete";
pub const WORKSPACE_PUBLISH: &str = "workspace_publish";
pub const SKILL_READ: &str = "skill_read";

pub const ALL: [PlatformTool; 9] = [
    PlatformTool { name: SHARED_CONTEXT, family: Family::SharedContext },
    PlatformTool { name: WORKSPACE_LIST, family: Family::Items },
    PlatformTool { name: WORKSPACE_READ, family: Family::Items },
    PlatformTool { name: WORKSPACE_WRITE, family: Family::Items },
    PlatformTool { name: WORKSPACE_DELETE, family: Family::Items },
    PlatformTool { name: WORKSPACE_PUBLISH, family: Family::Items },
    PlatformTool { name: "context_add", family: Family::Recall },
    PlatformTool { name: "context_search", family: Family::Recall },
    PlatformTool { name: SKILL_READ, family: Family::Skills },
];

pub fn find(name: &str) -> Option<PlatformTool> {
    ALL.into_iter().find(|tool| tool.name == name)
}

/// The tools of some families, in the table's order.
pub fn names_of(families: &[Family]) -> Vec<&'static str> {
    ALL.iter().filter(|tool| families.contains(&tool.family)).map(|tool| tool.name).collect()
}

/// Families that are called on behalf of an agent, by the tool's name.
pub const OF_AGENTS: [Family; 2] = [Family::Items, Family::Skills];

pub fn not_found() -> Refusal {
    let message = format!("there is no such tool here: there are {}", names_of(&OF_AGENTS).join(", "));
    Refusal::new(Code::ToolNotFound, message)
}
