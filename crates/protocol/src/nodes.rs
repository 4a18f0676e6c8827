//! Nodes: how they come in, and how they are shown.

use domain::nodes as words;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a node says. Either it wants to come in (`name`, `project` or `workspace`, `key_hash` and what it is), or it signs in
/// (`key`, and `node` or the `code` that it was given).
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairNode {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The one project that it serves, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The workspace of that project; without `project`, the one whose members it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// A name for its folder, not the path of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of its key, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The key itself: only its hash is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// How far a node has come in.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Pairing {
    /// `pending`: a person has to confirm the code. `paired`: it is in.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// When the code, or the token, ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
    /// Of kind `node`; shown to nobody but the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Node {
    pub id: String,
    pub name: String,
    pub workspace: String,
    /// The one project that it serves; none if it serves the members of its workspace.
    pub project: Option<String>,
    /// Whoever paired it.
    pub user: String,
    pub root_label: String,
    pub online: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_seen_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub paired_at: Timestamp,
    pub platform: String,
    pub version: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct NodeList {
    pub items: Vec<Node>,
    pub next_cursor: Option<String>,
}

impl Node {
    pub fn new(node: words::Node, now: Timestamp) -> Self {
        let online = node.is_online(now);
        let project = match node.serves {
            words::Serves::Project(project) => Some(project.as_str().to_owned()),
            words::Serves::Members => None,
        };
        Self {
            id: node.id.as_str().to_owned(),
            name: node.name,
            workspace: node.workspace.as_str().to_owned(),
            project,
            user: node.user.as_str().to_owned(),
            root_label: node.machine.root_label,
            online,
            last_seen_at: node.last_seen_at,
            paired_at: node.paired_at,
            platform: node.machine.platform,
            version: node.machine.version,
        }
    }
}
