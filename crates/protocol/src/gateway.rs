//! The gateway: messages of the http channel, routings explained, and senders who wait to be let in.

use crate::messages::{Failure, Reply, Usage};
use crate::workspaces::ProviderId;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatType {
    Direct,
    Group,
}

impl From<ChatType> for domain::channels::ChatType {
    fn from(chat: ChatType) -> Self {
        match chat {
            ChatType::Direct => Self::Direct,
            ChatType::Group => Self::Group,
        }
    }
}

/// A message that somebody wrote to a bot of your own.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PostMessage {
    /// The place: any text or number, always the same for the same place.
    pub chat_id: ProviderId,
    pub chat_type: ChatType,
    /// Who wrote, by an id that your bot vouches for.
    pub sender_id: ProviderId,
    /// What they call themselves; decides nothing.
    #[serde(default)]
    pub sender_name: Option<String>,
    pub text: String,
    /// Of the message: the same one again starts nothing.
    pub message_id: ProviderId,
    /// Whether the bot was mentioned or replied to; counts in groups whose binding says `reply: mention`.
    #[serde(default)]
    pub addressed: bool,
    /// How many seconds to wait for the answer, at most 600.
    #[schema(value_type = Option<f64>)]
    pub wait_s: Option<Number>,
}

/// What became of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Posted {
    /// `routed` or `refused`.
    pub decision: String,
    /// `UNKNOWN_SENDER`, `UNBOUND_GROUP`, `NOT_A_MEMBER`, `DUPLICATE` or `BUDGET_EXCEEDED`. A message that is not for the
    /// bot is refused without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// A sentence for whoever wrote, if something is to be said about a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// With `wait_s`, once the turn ended: `completed`, `failed` or `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ChannelReply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// For an unknown sender in a direct chat: what an admin approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing_code: Option<String>,
}

/// What to say in the chat: an agent's answer, or the house's own words about a command.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ChannelReply {
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl ChannelReply {
    /// The house's own words.
    pub fn of_house(content: String) -> Self {
        Self { content, message_id: None, agent: None, model: None, usage: None }
    }
}

impl From<Reply> for ChannelReply {
    fn from(reply: Reply) -> Self {
        Self {
            content: reply.content,
            message_id: Some(reply.message_id),
            agent: Some(reply.agent),
            model: Some(reply.model),
            usage: Some(reply.usage),
        }
    }
}

/// Who writes where: what a routing is asked about.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRoute {
    pub channel: String,
    pub chat_id: Option<ProviderId>,
    pub guild_id: Option<ProviderId>,
    pub channel_id: Option<ProviderId>,
    /// `group` if it is left out.
    pub chat_type: Option<ChatType>,
    pub sender_id: ProviderId,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ExplainedRoute {
    /// `routed` or `refused`.
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The place's session, if it has one already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub reason_code: Option<String>,
    pub steps: Vec<RouteStep>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RouteStep {
    /// `sender`, `binding`, `membership`, `session` or `agent`.
    pub step: String,
    /// `passed` or `refused`.
    pub outcome: String,
    pub detail: String,
}

impl From<domain::routing::Routing> for ExplainedRoute {
    fn from(routing: domain::routing::Routing) -> Self {
        let step = |step: domain::routing::Step| RouteStep {
            step: step.step.as_str().to_owned(),
            outcome: step.outcome().to_owned(),
            detail: step.detail,
        };
        let steps = routing.steps.into_iter().map(step).collect();
        match routing.decision {
            Ok(route) => Self {
                decision: "routed".to_owned(),
                workspace: Some(route.workspace.as_str().to_owned()),
                user: Some(route.user.as_str().to_owned()),
                session: route.session.map(|session| session.as_str().to_owned()),
                reason_code: None,
                steps,
            },
            Err(reason) => Self {
                decision: "refused".to_owned(),
                workspace: None,
                user: None,
                session: None,
                reason_code: Some(reason.as_str().to_owned()),
                steps,
            },
        }
    }
}

/// Somebody who wrote to a bot and is nobody's account yet.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SenderPairing {
    pub code: String,
    pub channel: String,
    pub sender_id: String,
    /// What they call themselves: anybody can call themselves anything.
    pub sender_name: String,
    #[schema(value_type = String, format = DateTime)]
    pub asked_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SenderPairingList {
    pub items: Vec<SenderPairing>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovePairing {
    /// Whose account it is. Without it a new member is made.
    pub user: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ApprovedPairing {
    pub user: String,
    pub channel: String,
    pub sender_id: String,
    /// Whether the person is new in the house.
    pub is_new: bool,
}

/// An answer, or a word about an approval, that does not reach its channel.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    pub id: String,
    pub workspace: String,
    pub place: String,
    pub user: String,
    /// Whose answer it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What it asks its person to decide, or tells the end of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// `pending` or `failed`.
    pub status: String,
    pub attempts: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub next_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    pub items: Vec<Delivery>,
    pub next_cursor: Option<String>,
}

impl From<domain::deliveries::Delivery> for Delivery {
    fn from(delivery: domain::deliveries::Delivery) -> Self {
        Self {
            id: delivery.id,
            workspace: delivery.workspace.as_str().to_owned(),
            place: delivery.target.place.as_key(),
            user: delivery.user.as_str().to_owned(),
            task_id: Some(delivery.task.as_str().to_owned()),
            approval_id: None,
            status: delivery.status.as_str().to_owned(),
            attempts: delivery.attempts,
            last_error: delivery.last_error,
            next_at: delivery.next_at,
            created_at: delivery.created_at,
        }
    }
}

/// A channel of the file.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Channel {
    /// `telegram` or `discord`.
    pub name: String,
    /// `starting`, `connected`, `failing` (it is tried again by itself) or `stopped`.
    pub state: String,
    /// Why it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ChannelList {
    pub items: Vec<Channel>,
    pub next_cursor: Option<String>,
}

impl From<domain::notices::Notice> for Delivery {
    fn from(notice: domain::notices::Notice) -> Self {
        let is_over = notice.ended_at.is_some();
        Self {
            id: notice.id(),
            workspace: notice.workspace.as_str().to_owned(),
            place: notice.place(),
            user: notice.user.as_str().to_owned(),
            task_id: None,
            approval_id: Some(notice.approval.as_str().to_owned()),
            status: if is_over { notice.status.as_str() } else { "pending" }.to_owned(),
            attempts: notice.tries.attempts,
            last_error: notice.tries.last_error,
            next_at: notice.tries.next_at,
            created_at: notice.created_at,
        }
    }
}
