//! Workspaces: what a policy scope is made of. Who made each part, the file or an admin, is kept with it.

use crate::capabilities::ToolSet;
use crate::ids::UserId;
use crate::money::Micros;
use crate::sessions::KeyConvention;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who said so: what the file says is changed in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    File,
    Admin,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Admin => "admin",
        }
    }
}

/// What a workspace sets. A part that is absent was not said: another source, the personal template or a default may.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkspaceSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Names of nodes that may serve this workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolRules>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_conventions: Option<Vec<KeyConvention>>,
}

/// What a workspace lets its agents use, and what not in any case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolRules {
    pub allow: ToolSet,
    pub deny: ToolSet,
}

/// How much may be spent in a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// By all together; none = no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily: Option<Micros>,
    /// By each member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_daily: Option<Micros>,
    /// By these members, instead of `member_daily`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<UserId, Micros>,
    /// Whose midnight ends the day, an IANA name; UTC if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

/// An account of a person with a channel's provider, by the provider's own id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub channel: String,
    pub id: String,
}

/// A place of a channel that belongs to a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    #[serde(flatten)]
    pub place: ChannelPlace,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
}

/// Where messages come from: a chat, or a channel of a guild.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChannelPlace {
    pub channel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guild_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
}

/// What is answered in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Mention,
    All,
}

impl WorkspaceSettings {
    /// What holds where this says nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            description: self.description.or(other.description),
            model: self.model.or(other.model),
            nodes: self.nodes.or(other.nodes),
            tools: self.tools.or(other.tools),
            skills: self.skills.or(other.skills),
            budget: self.budget.or(other.budget),
            key_conventions: self.key_conventions.or(other.key_conventions),
        }
    }
}

/// Whether a name is kept for people's own workspaces.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("personal")
}

/// What everybody's own workspace is, where the template says nothing.
pub fn personal_defaults() -> WorkspaceSettings {
    WorkspaceSettings {
        tools: Some(ToolRules { allow: ToolSet::of(&["filesystem.*", "exec.sandboxed"]), deny: ToolSet::default() }),
        budget: Some(Budget { daily: Some(Micros(5_000_000)), ..Budget::default() }),
        ..WorkspaceSettings::default()
    }
}

impl ChannelPlace {
    /// One text for one place: the key under which a binding is found. A channel's name has no `:`.
    pub fn as_key(&self) -> String {
        let inner = match (&self.chat_id, &self.guild_id, &self.channel_id) {
            (Some(chat), _, _) => chat.clone(),
            (None, guild, channel) => {
                format!("{}:{}", guild.as_deref().unwrap_or_default(), channel.as_deref().unwrap_or_default())
            }
        };
        format!("{}:{inner}", self.channel)
    }
}
