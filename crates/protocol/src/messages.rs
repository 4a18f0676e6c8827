//! Talk: messages of a session, and what becomes of them.

use domain::messages as words;
use domain::money::Micros;
use domain::tasks::Priority;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// What is said: up to 256 KiB of text.
    pub content: String,
    /// The agent that is to answer, by id or name.
    pub target_agent: Option<String>,
    /// `high` goes before everything of `normal` that waits for the same agent.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub priority: Option<Priority>,
    /// How many seconds to wait for the end, at most 600; without it the answer comes at once, 202.
    #[schema(value_type = Option<f64>)]
    pub wait_s: Option<Number>,
}

/// What was taken in.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Sent {
    pub message_id: String,
    /// `direct`: one agent was named.
    pub mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// With `wait_s`, once it ended: `completed`, `failed` or `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Reply {
    pub message_id: String,
    pub content: String,
    pub agent: String,
    pub model: String,
    /// Of all calls of the turn.
    pub usage: Usage,
    /// The answer ran into `max_tokens` and ends in the middle.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Left out if the price of the model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    pub fn new(usage: domain::prices::Usage, cost: Option<Micros>) -> Self {
        let domain::prices::Usage { input_tokens, output_tokens } = usage;
        Self { input_tokens, output_tokens, cost_usd: cost.map(Micros::as_usd) }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

impl From<words::Failure> for Failure {
    fn from(failure: words::Failure) -> Self {
        Self { code: failure.code.as_str().to_owned(), message: failure.message }
    }
}

/// One message of a session's history.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Message {
    pub id: String,
    /// Its place in the session, from 1.
    pub number: u64,
    /// `user`, `assistant`, or `summary` (what a model is told instead of everything up to `covers`).
    pub role: String,
    pub content: String,
    /// Who said it: `user:usr_…`, `subagent:…`.
    pub author: String,
    pub on_behalf_of: String,
    /// The agent that speaks, or that is spoken to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// What the agent asked for in this step, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolUse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<u64>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolUse {
    pub id: String,
    pub tool: String,
    /// As the model wrote them. Empty, like the result, for others than the person it was done for.
    pub arguments: String,
    /// Left out while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MessageList {
    pub items: Vec<Message>,
    pub next_cursor: Option<String>,
}

impl From<words::ToolUse> for ToolUse {
    fn from(call: words::ToolUse) -> Self {
        let (result, is_error) = call.result.map_or((None, false), |result| (Some(result.content), result.is_error));
        Self { id: call.id, tool: call.tool, arguments: call.arguments, result, is_error }
    }
}

impl From<words::Message> for Message {
    fn from(message: words::Message) -> Self {
        let made_by = message.made_by;
        Self {
            id: message.id.as_str().to_owned(),
            number: message.number,
            role: message.role.as_str().to_owned(),
            content: message.content,
            author: message.author.participant.as_str().to_owned(),
            on_behalf_of: message.author.user.as_str().to_owned(),
            agent: message.author.agent.map(|agent| agent.name),
            task_id: message.task.map(|task| task.as_str().to_owned()),
            in_reply_to: message.in_reply_to.map(|id| id.as_str().to_owned()),
            usage: made_by.as_ref().map(|made| Usage::new(made.usage, made.cost)),
            truncated: made_by.as_ref().is_some_and(|made| made.truncated),
            model: made_by.map(|made| made.model),
            tool_calls: message.calls.into_iter().map(Into::into).collect(),
            error: message.error.map(Into::into),
            covers: message.covers,
            created_at: message.created_at,
        }
    }
}
