//! The house, as a node sees it. The binary speaks to a real one; tests have one of their own.

use protocol::tool_calls::{AcceptCall, CallResult, Preview, ToolCall};
use std::future::Future;

/// Why the house did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HouseError {
    /// Nobody knows whether it heard.
    #[error("the house cannot be reached: {0}")]
    Unreachable(String),
    /// It heard, and said no.
    #[error("the house says no: {code}: {message}")]
    Refused { code: String, message: String },
}

impl HouseError {
    /// Whether asking the same again is of no use.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

pub trait House: Send + Sync + 'static {
    /// What this node has to look at: as much of it as the house tells at once.
    fn open_calls(&self) -> impl Future<Output = Result<Vec<ToolCall>, HouseError>> + Send;

    /// How far one call is.
    fn status_of(&self, project: &str, call: &str) -> impl Future<Output = Result<String, HouseError>> + Send;

    fn preview(&self, call: &ToolCall, preview: &Preview) -> impl Future<Output = Result<(), HouseError>> + Send;

    /// May it begin? Nothing is done before a yes.
    fn accept(&self, call: &ToolCall, asked: &AcceptCall) -> impl Future<Output = Result<(), HouseError>> + Send;

    fn result(&self, call: &ToolCall, result: &CallResult) -> impl Future<Output = Result<(), HouseError>> + Send;
}
