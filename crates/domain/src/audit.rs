//! What is written down about every change: who, what, when, never a value.

use crate::callers::Caller;
use crate::ids::{SessionId, UserId};
use crate::participants::Participant;
use crate::times::Timestamp;
use serde_json::{Map, Value};

/// The chain that holds what belongs to no workspace. `@` cannot occur in a workspace's name.
pub const HOUSE: &str = "@house";

#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    pub at: Timestamp,
    pub user: UserId,
    pub participant: Participant,
    /// A dotted verb: `context.write`, `session.archive`, `token.revoke` …
    pub action: &'static str,
    pub session: Option<SessionId>,
    pub detail: Map<String, Value>,
}

impl AuditRecord {
    pub fn new(caller: &Caller, action: &'static str, at: Timestamp) -> Self {
        Self {
            at,
            user: caller.user.clone(),
            participant: caller.participant.clone(),
            action,
            session: None,
            detail: Map::new(),
        }
    }

    #[must_use]
    pub fn in_session(mut self, session: &SessionId) -> Self {
        self.session = Some(session.clone());
        self
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }
}

/// An audit row as it is read back, with its place in the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRow {
    pub workspace: String,
    pub seq: u64,
    pub at: Timestamp,
    pub user: String,
    pub participant: String,
    pub action: String,
    pub session: Option<String>,
    pub detail: String,
    pub hash: String,
}
