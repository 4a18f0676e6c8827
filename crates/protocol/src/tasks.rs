//! Tasks of a project's agents.

use crate::messages::Failure;
use domain::tasks as words;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Task {
    pub id: String,
    /// The agent's name.
    pub agent: String,
    pub agent_id: String,
    /// `queued`, `running`, `waiting`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// `normal` or `high`.
    pub priority: String,
    pub session: String,
    pub project: String,
    /// The message that it answers.
    pub message_id: String,
    pub on_behalf_of: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    pub items: Vec<Task>,
    pub next_cursor: Option<String>,
}

impl From<words::Task> for Task {
    fn from(task: words::Task) -> Self {
        let times = task.times;
        Self {
            id: task.id.as_str().to_owned(),
            agent: task.agent.name,
            agent_id: task.agent.id.as_str().to_owned(),
            status: task.status.as_str().to_owned(),
            priority: task.priority.as_str().to_owned(),
            session: task.session.as_str().to_owned(),
            project: task.project.as_str().to_owned(),
            message_id: task.talk.message.as_str().to_owned(),
            on_behalf_of: task.sender.user.as_str().to_owned(),
            created_at: times.created_at,
            started_at: times.started_at,
            ended_at: times.ended_at,
            deadline_at: times.deadline_at,
            error: task.error.map(Into::into),
        }
    }
}
