//! Plugins, as whoever looks after the house sees them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PluginList {
    pub items: Vec<Plugin>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Plugin {
    pub name: String,
    /// `starting`, `ready`, `restarting`, `failed` or `stopped`.
    pub state: String,
    /// Why it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How often it has gone away or did not come up since it was declared.
    #[serde(default)]
    pub times_away: u64,
    /// Why, the last time; also while it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_trouble: Option<String>,
    /// The last that its program wrote to its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// It lists more tools than are taken.
    pub is_cut: bool,
    pub tools: Vec<PluginTool>,
    /// Tools that it lists and that are not offered.
    pub left_out: Vec<LeftOutTool>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PluginTool {
    pub name: String,
    /// `accepted`, `new`, `changed` or `gone`. One that is new or changed is off until it is accepted.
    pub status: String,
    /// In the plugin's words as they are now, with hidden characters made visible.
    pub description: String,
    /// Of its own name, description and schema as they are now: what is accepted.
    pub fingerprint: String,
    /// What was accepted, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_description: Option<String>,
    /// The admin who accepted it; none if it came with the declaration of its plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<String>,
    /// Whether the file wants a person to be asked about each call.
    pub waits_for_a_person: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeftOutTool {
    pub name: String,
    pub why: String,
}

/// An admin's yes to a tool as it is now.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptTool {
    pub tool: String,
    /// Of what you were shown: if the tool is another by now, nothing is accepted.
    pub fingerprint: String,
}
