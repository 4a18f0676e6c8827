//! What people are asked about calls, and what they answer.

use crate::tool_calls::{PluginUse, Preview, Risk, ToolCall};
use domain::approvals as words;
use domain::standing_rules as rules;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    pub id: String,
    pub project: String,
    pub workspace: String,
    pub tool_call_id: String,
    pub tool: String,
    #[schema(value_type = Object)]
    pub params: Value,
    /// The arguments as text, with hidden characters made visible.
    pub shown: String,
    pub risk: Option<Risk>,
    pub digest: String,
    pub agent: String,
    pub agent_id: String,
    pub on_behalf_of: String,
    pub session: Option<String>,
    pub node: Option<String>,
    /// The plugin whose tool it is, with what it says of it as that was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginUse>,
    /// How the machine and the folder on it are called, as long as the node is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_label: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub requested_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// What would change in a text, with hidden characters made visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Where the node found the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether it may use the network.
    #[serde(default)]
    pub network: bool,
    /// Whether the node could say beforehand what it would do.
    pub previewed: bool,
    /// All that it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// Why the agent asked; none if no turn did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// What the session knew when you were asked; all of it is at `/my/approvals/{approval}/context`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_knew: Option<SessionKnew>,
    /// `pending`, `approved`, `rejected`, `expired` or `cancelled`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub decided_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The state of the call.
    pub call_status: String,
    /// Whether a list left out some of its arguments, diff or reasons: the approval by itself has all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// What a call comes from, with hidden characters made visible.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// What the person had asked for.
    pub asked: String,
    /// What the agent said when it wanted the call.
    pub said: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionKnew {
    /// How often the shared context had changed.
    pub rev: u64,
    pub keys: u64,
    pub total_size_tokens: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    pub items: Vec<Approval>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Of what you were shown: with it nothing else can be approved.
    #[serde(default)]
    pub digest: Option<String>,
    #[serde(default)]
    pub remember: Option<Remember>,
}

/// Let an answer stand for later calls.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// `call`: just this one. `folder`: this tool below `folder`; never for commands.
    pub kind: String,
    #[serde(default)]
    pub folder: Option<String>,
    /// `session`, or a time (RFC 3339) within the next 30 days.
    #[serde(rename = "for")]
    pub lasts: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideAll {
    pub ids: Vec<String>,
    /// `approve` or `reject`.
    pub decision: String,
}

/// What became of each.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DecidedAll {
    pub items: Vec<DecidedOne>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DecidedOne {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<crate::errors::ErrorDetail>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StandingRule {
    pub id: String,
    pub workspace: String,
    pub project: String,
    pub agent_id: String,
    pub node: String,
    pub tool: String,
    /// `call` or `folder`.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StandingRuleList {
    pub items: Vec<StandingRule>,
    pub next_cursor: Option<String>,
}

impl Approval {
    /// `shown`: how text is shown to people.
    pub fn new(workspace: &str, approval: words::Approval, call: ToolCall, shown: fn(&str) -> String) -> Self {
        let decided = approval.decided.as_ref();
        let arguments = serde_json::to_string_pretty(&call.params).unwrap_or_default();
        let preview = call.preview.as_ref();
        Self {
            id: approval.id.as_str().to_owned(),
            project: approval.project.as_str().to_owned(),
            workspace: workspace.to_owned(),
            tool_call_id: approval.call.as_str().to_owned(),
            shown: shown(&arguments),
            digest: approval.digest,
            on_behalf_of: approval.user.as_str().to_owned(),
            requested_at: approval.requested_at,
            expires_at: approval.expires_at,
            diff: preview.and_then(|preview| preview.diff.as_deref()).map(shown),
            program: preview.and_then(|preview| preview.program.clone()),
            network: call.network,
            previewed: preview.is_some(),
            preview: preview.map(|preview| preview.shown(shown)),
            why: None,
            session_knew: None,
            status: approval.status.as_str().to_owned(),
            decided_by: decided.and_then(|decided| decided.by.as_ref()).map(|user| user.as_str().to_owned()),
            decided_at: decided.map(|decided| decided.at),
            reason: decided.and_then(|decided| decided.note.clone()),
            call_status: call.status,
            cut: call.cut,
            tool: call.tool,
            params: call.params,
            risk: call.risk,
            agent: call.agent,
            agent_id: call.agent_id,
            session: call.session,
            node: call.node,
            plugin: call.plugin,
            node_name: call.node_name,
            root_label: call.root_label,
        }
    }
}

impl StandingRule {
    pub fn new(workspace: &str, rule: rules::StandingRule) -> Self {
        let (kind, params, folder) = match rule.covers {
            rules::Covers::Call { params } => ("call", serde_json::from_str(&params).ok(), None),
            rules::Covers::Folder { folder } => ("folder", None, Some(folder)),
        };
        let (session, until) = match rule.lasts {
            rules::Lasts::Session(session) => (Some(session.as_str().to_owned()), None),
            rules::Lasts::Until(until) => (None, Some(until)),
        };
        Self {
            id: rule.id.as_str().to_owned(),
            workspace: workspace.to_owned(),
            project: rule.place.project.as_str().to_owned(),
            agent_id: rule.place.agent.as_str().to_owned(),
            node: rule.place.node.as_str().to_owned(),
            tool: rule.tool,
            kind: kind.to_owned(),
            params,
            folder,
            session,
            until,
            created_at: rule.created_at,
        }
    }
}
