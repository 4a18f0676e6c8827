//! Ids as newtypes. Parsing is the only way to make one from outside text; nothing relies on their secrecy.

use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Declares a string newtype whose only public constructor is its `parse`.
macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// For text that was checked when it was written down: rows and signed claims.
            pub fn from_trusted(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use string_id;

string_id! {
    /// A person: `usr_<name>`.
    UserId
}
string_id! {
    /// A policy scope. Everybody has a personal one, `personal-<user id>`.
    WorkspaceId
}
string_id! {
    /// A session: `ses_…` when generated, else the caller's own word for it.
    SessionId
}
string_id! {
    /// The `jti` of a token.
    TokenId
}
string_id! {
    /// A project: `prj_…`.
    ProjectId
}
string_id! {
    /// An agent: `agt_…`.
    AgentId
}
string_id! {
    /// A workspace item's row: `itm_…`. Tells an item from a later one under the same key.
    ItemId
}
string_id! {
    /// A publication: `pub_…`.
    PublicationId
}
string_id! {
    /// A call of a model, as the ledger has it: `mdl_…`.
    ModelCallId
}

string_id! {
    /// A message of a session: `msg_…`.
    MessageId
}
string_id! {
    /// A task on the bus: `tsk_…`.
    TaskId
}

string_id! {
    /// A call of a tool on somebody's machine: `call_…`.
    ToolCallId
}
string_id! {
    /// A person's decision about a call: `apr_…`.
    ApprovalId
}
string_id! {
    /// A decision that stands for later calls: `rul_…`.
    StandingRuleId
}
string_id! {
    /// The daemon on somebody's machine: `nod_…`.
    NodeId
}

pub const SESSION_PREFIX: &str = "ses_";
const USER_PREFIX: &str = "usr_";
const PERSONAL_PREFIX: &str = "personal-";

/// Whether `text` is 1 to `longest` bytes, each accepted by `allowed`.
pub(crate) fn is_word(text: &str, longest: usize, allowed: impl Fn(u8) -> bool) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(allowed)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
}

impl UserId {
    /// Accepts `usr_sean` and, because people write it so, `sean`.
    pub fn parse(text: &str) -> Result<Self> {
        let name = text.strip_prefix(USER_PREFIX).unwrap_or(text);
        if is_word(name, 32, is_name_byte) && name.as_bytes()[0].is_ascii_lowercase() {
            return Ok(Self(format!("{USER_PREFIX}{name}")));
        }
        Err(Refusal::invalid_field("user", "a user name starts with a letter and has 1 to 32 of a-z, 0-9, `_` and `-`"))
    }

    pub fn name(&self) -> &str {
        self.0.strip_prefix(USER_PREFIX).unwrap_or(&self.0)
    }
}

impl WorkspaceId {
    pub fn parse(text: &str) -> Result<Self> {
        if is_word(text, 64, is_name_byte) {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::new(Code::WorkspaceNotFound, "there is no workspace of that name that you can see"))
    }

    pub fn personal(user: &UserId) -> Self {
        Self(format!("{PERSONAL_PREFIX}{user}"))
    }
}

impl SessionId {
    /// For addressing: any well-formed id, generated or chosen. One that cannot exist is simply not found.
    pub fn parse(text: &str) -> Result<Self> {
        if Self::is_well_formed(text) { Ok(Self(text.to_owned())) } else { Err(Refusal::session_not_found()) }
    }

    /// For creating: the prefix `ses_` is reserved for generated ids.
    pub fn choose(text: &str) -> Result<Self> {
        if text.starts_with(SESSION_PREFIX) {
            return Err(Refusal::invalid_field("id", "the prefix `ses_` is reserved for generated ids"));
        }
        if !Self::is_well_formed(text) {
            return Err(Refusal::invalid_field("id", "a session id has 1 to 128 of A-Z, a-z, 0-9, `_` and `-`"));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn generated(unique: uuid::Uuid) -> Self {
        Self(format!("{SESSION_PREFIX}{}", unique.simple()))
    }

    fn is_well_formed(text: &str) -> bool {
        is_word(text, 128, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    }
}

/// Gives an id type its prefix; one that is not well-formed cannot exist and is simply not found.
macro_rules! prefixed {
    ($name:ident, $prefix:literal, $not_found:ident) => {
        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn parse(text: &str) -> Result<Self> {
                let rest = text.strip_prefix(Self::PREFIX);
                if rest.is_some_and(|rest| is_word(rest, 64, |byte| byte.is_ascii_alphanumeric())) {
                    return Ok(Self(text.to_owned()));
                }
                Err(Refusal::$not_found())
            }

            pub fn generated(unique: uuid::Uuid) -> Self {
                Self(format!("{}{}", Self::PREFIX, unique.simple()))
            }
        }
    };
}
prefixed!(ProjectId, "prj_", project_not_found);
prefixed!(AgentId, "agt_", agent_id_not_found);
prefixed!(PublicationId, "pub_", publication_not_found);
prefixed!(TaskId, "tsk_", task_not_found);
prefixed!(ToolCallId, "call_", tool_call_not_found);
prefixed!(ApprovalId, "apr_", approval_not_found);
prefixed!(StandingRuleId, "rul_", standing_rule_not_found);
prefixed!(NodeId, "nod_", node_not_found);

impl ItemId {
    pub fn generated(unique: uuid::Uuid) -> Self {
        Self(format!("itm_{}", unique.simple()))
    }
}

impl MessageId {
    /// The message that says that a task came to nothing.
    pub fn of_task(task: &TaskId) -> Self {
        Self(format!("msg_{}", task.as_str().trim_start_matches(TaskId::PREFIX)))
    }

    pub fn generated(unique: uuid::Uuid) -> Self {
        Self(format!("msg_{}", unique.simple()))
    }
}

impl ModelCallId {
    pub fn generated(unique: uuid::Uuid) -> Self {
        Self(format!("mdl_{}", unique.simple()))
    }
}

impl TokenId {
    pub fn parse(text: &str) -> Result<Self> {
        if is_word(text, 64, |byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::new(Code::TokenNotFound, "there is no token of that id that you can see"))
    }

    pub fn generated(unique: uuid::Uuid) -> Self {
        Self(format!("tok_{}", unique.simple()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_with_or_without_its_prefix() {
        assert_eq!(UserId::parse("sean").unwrap(), UserId::parse("usr_sean").unwrap());
        for bad in ["", "usr_", "Sean", "a b", "é", "-a", "0day", "a\n", &"a".repeat(33)] {
            assert!(UserId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_chosen_session_id_is_one_word_and_never_looks_generated() {
        for good in ["a", "ticket-42", "A_b", &"x".repeat(128)] {
            assert!(SessionId::choose(good).is_ok(), "{good:?}");
        }
        for bad in ["", "ses_1", "a b", "a/b", "a\n", "ä", &"x".repeat(129)] {
            assert!(SessionId::choose(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_personal_workspace_carries_its_owner() {
        assert_eq!(WorkspaceId::personal(&UserId::parse("sean").unwrap()).as_str(), "personal-usr_sean");
    }
}
