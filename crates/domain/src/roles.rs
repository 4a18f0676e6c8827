//! What a person is in the house, and what that lets them use.

use crate::capabilities::ToolSet;
use crate::ids::is_word;
use crate::{Refusal, Result};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// `admin`, `member` and `guest` are always there; the configuration file may define others, which are like `member`
/// but for the tools and rights it gives them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Role {
    Admin,
    Member,
    Guest,
    Other(String),
}

impl From<String> for Role {
    fn from(text: String) -> Self {
        match text.as_str() {
            "admin" => Self::Admin,
            "member" => Self::Member,
            "guest" => Self::Guest,
            _ => Self::Other(text),
        }
    }
}

impl From<Role> for String {
    fn from(role: Role) -> Self {
        role.as_str().to_owned()
    }
}

impl Role {
    /// A well-formed name; whether there is such a role is for `Rules::has_role`.
    pub fn parse(text: &str) -> Result<Self> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        if is_word(text, 32, allowed) && text.as_bytes()[0].is_ascii_lowercase() {
            return Ok(Self::from(text.to_owned()));
        }
        Err(unknown())
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Guest => "guest",
            Self::Other(name) => name,
        }
    }

    pub fn is_built_in(&self) -> bool {
        !matches!(self, Self::Other(_))
    }
}

pub fn unknown() -> Refusal {
    Refusal::invalid_field("role", "a role is one of admin, member, guest, or one that the configuration file defines")
}

/// What a role says. A part that is absent is as it is built in, or nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoleRules {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<ToolSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rights: Option<Vec<Right>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// May approve for others in their workspaces.
    Approve,
}

impl RoleRules {
    /// What a role is where the file says nothing of it; only the built-in ones are anything then.
    pub(crate) fn built_in(role: &Role) -> Option<&'static Self> {
        static BUILT_IN: LazyLock<[RoleRules; 3]> =
            LazyLock::new(|| {
                [(&["*"][..], &[][..]), (&["*"], &["exec.host"]), (&["calendar.*"], &[])].map(|(tools, deny)| {
                    RoleRules { tools: Some(ToolSet::of(tools)), deny: Some(ToolSet::of(deny)), rights: None }
                })
            });
        let [admin, member, guest] = &*BUILT_IN;
        match role {
            Role::Admin => Some(admin),
            Role::Member => Some(member),
            Role::Guest => Some(guest),
            Role::Other(_) => None,
        }
    }
}
