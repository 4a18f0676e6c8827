//! A refusal: the code, a sentence a person can act on, and details a program can act on.
//!
//! Messages name fields, keys and limits. They never carry a value, a token or a secret.

use crate::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub type Result<T, E = Refusal> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{}: {message}", code.as_str())]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new() }
    }

    /// Adds one machine-readable fact.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, message)
    }

    /// A field that is missing, of the wrong type, unknown or out of range.
    pub fn invalid_field(field: &str, message: impl Into<String>) -> Self {
        Self::invalid(message).with("field", field)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(Code::Forbidden, message)
    }

    pub fn session_not_found() -> Self {
        Self::new(Code::SessionNotFound, "there is no session of that id that you can see")
    }

    pub fn workspace_not_found() -> Self {
        Self::new(Code::WorkspaceNotFound, "there is no workspace of that name that you can see")
    }

    pub fn project_not_found() -> Self {
        Self::new(Code::ProjectNotFound, "there is no project of that id or name that you can see")
    }

    pub fn agent_not_found() -> Self {
        Self::new(Code::AgentNotFound, "there is no agent of that id or name that you can see")
    }

    /// Where only an id will do.
    pub fn agent_id_not_found() -> Self {
        Self::new(Code::AgentNotFound, "there is no agent of that id that you can see; ids begin with `agt_`")
    }

    pub fn item_not_found() -> Self {
        Self::new(Code::ItemNotFound, "there is no item under that key")
    }

    pub fn task_not_found() -> Self {
        Self::new(Code::TaskNotFound, "there is no task of that id that you can see")
    }

    pub fn tool_call_not_found() -> Self {
        Self::new(Code::ToolCallNotFound, "there is no call of that id that you can see")
    }

    pub fn approval_not_found() -> Self {
        Self::new(Code::ApprovalNotFound, "there is no approval of that id that you can see")
    }

    pub fn standing_rule_not_found() -> Self {
        Self::new(Code::StandingRuleNotFound, "there is no standing rule of that id that you can see")
    }

    pub fn node_not_found() -> Self {
        Self::new(Code::NodeNotFound, "there is no node of that id or name that you can see")
    }

    pub fn publication_not_found() -> Self {
        Self::new(Code::PublicationNotFound, "you have no publication of that id")
    }
}
