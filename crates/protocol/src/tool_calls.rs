//! Calls of tools on people's machines and of plugins, and what nodes say about them.

use crate::messages::Failure;
use domain::nodes::Node;
use domain::times::Timestamp;
use domain::tool_calls as words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What is to be done, on whose behalf and where.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteTool {
    /// The agent on whose behalf, by id or name.
    pub agent: String,
    #[serde(default)]
    pub session: Option<String>,
    pub tool: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// The node, by id or name, if there are several.
    #[serde(default)]
    pub node: Option<String>,
    /// Wait for so long (0 to 600) for its end.
    #[serde(default)]
    #[schema(value_type = Option<f64>)]
    pub wait_s: Option<Number>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Risk {
    /// `LOW`, `MEDIUM` or `HIGH`.
    pub level: String,
    /// Why it is no lower.
    pub reasons: Vec<String>,
}

/// What a node found out about a call without doing anything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preview {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Where the path really leads, behind links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether the diff is not all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub diff_cut: bool,
    /// Why there is no diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The files that words behind a wrapper mean, such as what `env` would start; outside of the system only their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub starts: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Whether the node would let a program use the network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Why the node would refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Failure>,
}

/// A tool of a plugin, as it was accepted when the call was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginUse {
    pub name: String,
    /// In the plugin's words, with hidden characters made visible.
    pub description: String,
    /// Part of the digest: of the tool's own name, description and schema.
    pub fingerprint: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    pub id: String,
    pub tool: String,
    #[schema(value_type = Object)]
    pub params: Value,
    pub status: String,
    /// Whether whoever waited has the outcome.
    pub consumed: bool,
    pub risk: Option<Risk>,
    pub digest: Option<String>,
    /// Part of the digest: the rules it was judged by, and until when that holds.
    pub policy_epoch: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Part of the digest: whether it may use the network.
    #[serde(default)]
    pub network: bool,
    pub preview: Option<Preview>,
    /// The plugin whose tool it is; none if a node makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginUse>,
    pub approval_id: Option<String>,
    pub node: Option<String>,
    /// How the machine and the folder on it are called, as long as the node is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_label: Option<String>,
    /// How often the node was told of it.
    pub attempt: u64,
    pub project: String,
    pub session: Option<String>,
    pub agent: String,
    pub agent_id: String,
    pub on_behalf_of: String,
    /// The task whose turn waits for it.
    pub task: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    /// Why it came to nothing.
    pub reason: Option<Failure>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When its state ends by itself.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Whether a list left out some of its arguments, diff or result: the call by itself has all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolCallList {
    pub items: Vec<ToolCall>,
    pub next_cursor: Option<String>,
}

/// A node asks whether it may begin.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptCall {
    pub attempt: u64,
    /// Of what it would do, made by itself.
    pub digest: String,
    /// Whether it has begun, after an earlier yes.
    #[serde(default)]
    pub started: bool,
}

/// How a call ended on its node.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallResult {
    pub attempt: u64,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub result: Map<String, Value>,
    /// `completed` (the default), `failed` (it broke off), `refused` (it never began) or `unknown`.
    #[serde(default)]
    pub status: Option<String>,
    /// With `refused`: why.
    #[serde(default)]
    pub reason: Option<Failure>,
}

/// A tool, as somebody who may use it sees it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AvailableTool {
    pub name: String,
    pub description: String,
    #[schema(value_type = Object)]
    pub schema: Value,
    pub capability: String,
    /// The least that a call of it is.
    pub risk: String,
    /// `node`, `platform` or `plugin`.
    pub runs_on: String,
    /// Of which plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AvailableTools {
    pub items: Vec<AvailableTool>,
    pub next_cursor: Option<String>,
}

impl From<words::Preview> for Preview {
    fn from(preview: words::Preview) -> Self {
        let words::Preview {
            exists,
            path,
            base_sha256,
            diff,
            diff_cut,
            no_diff,
            program,
            starts,
            cwd,
            environment,
            network,
            refusal,
        } = preview;
        let refusal = refusal.map(Into::into);
        Self { exists, path, base_sha256, diff, diff_cut, no_diff, program, starts, cwd, environment, network, refusal }
    }
}

impl Preview {
    /// The same for people, with every text made visible.
    #[must_use]
    pub fn shown(&self, shown: fn(&str) -> String) -> Self {
        let seen = |text: &Option<String>| text.as_deref().map(shown);
        Self {
            path: seen(&self.path),
            diff: seen(&self.diff),
            no_diff: seen(&self.no_diff),
            program: seen(&self.program),
            starts: self.starts.iter().map(|(word, file)| (shown(word), shown(file))).collect(),
            cwd: seen(&self.cwd),
            environment: self.environment.iter().map(|name| shown(name)).collect(),
            ..self.clone()
        }
    }
}

impl From<&words::PluginUse> for PluginUse {
    fn from(plugin: &words::PluginUse) -> Self {
        Self {
            name: plugin.plugin.clone(),
            description: plugin.description.clone(),
            fingerprint: plugin.fingerprint.as_str().to_owned(),
        }
    }
}

impl Risk {
    pub fn of(judgement: &words::Judgement) -> Self {
        Self { level: judgement.risk.as_str().to_owned(), reasons: judgement.reasons.clone() }
    }
}

impl From<words::ToolCall> for ToolCall {
    fn from(call: words::ToolCall) -> Self {
        let words::ToolCall { id, origin, wish, status, judgement, approval, delivery, outcome, times } = call;
        let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
        Self {
            id: id.as_str().to_owned(),
            tool: wish.tool,
            params: json(&wish.params),
            status: status.as_str().to_owned(),
            consumed: outcome.consumed,
            risk: judgement.as_ref().map(Risk::of),
            digest: judgement.as_ref().map(|judgement| judgement.digest.clone()),
            policy_epoch: judgement.as_ref().map(|judgement| judgement.policy_epoch),
            expires_at: judgement.as_ref().map(|judgement| judgement.expires_at),
            network: judgement.as_ref().is_some_and(|judgement| judgement.network),
            plugin: judgement.as_ref().and_then(|judgement| judgement.plugin.as_ref()).map(Into::into),
            preview: judgement.and_then(|judgement| judgement.preview).map(Into::into),
            approval_id: approval.map(|approval| approval.as_str().to_owned()),
            node: delivery.node.map(|node| node.as_str().to_owned()),
            node_name: None,
            root_label: None,
            attempt: delivery.attempt,
            project: origin.project.as_str().to_owned(),
            session: origin.session.map(|session| session.as_str().to_owned()),
            agent: origin.agent.name,
            agent_id: origin.agent.id.as_str().to_owned(),
            on_behalf_of: origin.user.as_str().to_owned(),
            task: origin.waiter.map(|waiter| waiter.task.as_str().to_owned()),
            result: outcome.result.as_deref().map(json),
            reason: outcome.reason.map(Into::into),
            created_at: times.created_at,
            deadline_at: times.deadline_at,
            ended_at: times.ended_at,
            cut: false,
        }
    }
}

impl ToolCall {
    /// The same with the names of its machine. `shown`: how text is shown to people.
    #[must_use]
    pub fn on(self, node: Option<&Node>, shown: fn(&str) -> String) -> Self {
        let node_name = node.map(|node| node.name.clone());
        Self { node_name, root_label: node.map(|node| shown(&node.machine.root_label)), ..self }
    }
}

impl From<words::Brief> for ToolCall {
    fn from(brief: words::Brief) -> Self {
        Self { cut: brief.cut, ..brief.call.into() }
    }
}
