//! Events about talk and work: messages, tasks, worker spaces and alerts. Ids and figures, never what was said.

use super::{Event, EventKind};
use crate::ids::{ProjectId, SessionId};
use crate::messages::Message;
use crate::node_tools::name_for_others;
use crate::tasks::{Task, TaskStatus};
use crate::times::Timestamp;
use crate::worker_spaces::{Alert, SpaceStatus};
use serde_json::{Map, Value, json};

impl EventKind {
    /// What a task that has come into this state is told with.
    pub fn of_task(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Queued => Self::TaskQueued,
            TaskStatus::Running => Self::TaskStarted,
            TaskStatus::Waiting => Self::TaskWaiting,
            TaskStatus::Completed => Self::TaskCompleted,
            TaskStatus::Failed => Self::TaskFailed,
            TaskStatus::Cancelled => Self::TaskCancelled,
        }
    }
}

impl Event {
    /// Whether an event of this kind tells of the end of a task.
    pub fn ends_a_task(kind: &str) -> bool {
        [EventKind::TaskCompleted, EventKind::TaskFailed, EventKind::TaskCancelled]
            .iter()
            .any(|end| end.as_str() == kind)
    }

    pub(super) fn plain(
        kind: EventKind,
        at: Timestamp,
        project: Option<&ProjectId>,
        session: Option<&SessionId>,
        fields: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Self {
        let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
        Self {
            kind,
            at,
            project: project.cloned(),
            session: session.cloned(),
            key: None,
            readable_by: None,
            fields: fields.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
        }
    }

    /// A task that has come into the state it is in.
    pub fn task(task: &Task, at: Timestamp) -> Self {
        let fields = [
            ("task", json!(task.id)),
            ("agent", json!(task.agent.name)),
            ("agent_id", json!(task.agent.id)),
            ("status", json!(task.status)),
            ("priority", json!(task.priority)),
            ("message_id", json!(task.talk.message)),
            ("on_behalf_of", json!(task.sender.user)),
            ("error", json!(task.error)),
        ];
        Self::plain(EventKind::of_task(task.status), at, Some(&task.project), Some(&task.session), fields)
    }

    /// A message of an agent that is whole and kept.
    pub fn message(message: &Message, project: &ProjectId) -> Self {
        let made_by = message.made_by.as_ref();
        // Everybody in the session hears of it.
        let tools: Vec<&str> = message.calls.iter().map(|call| name_for_others(&call.tool)).collect();
        let fields = [
            ("message_id", json!(message.id)),
            ("number", json!(message.number)),
            ("role", json!(message.role)),
            ("agent", json!(message.author.agent.as_ref().map(|agent| &agent.name))),
            ("task", json!(message.task)),
            ("in_reply_to", json!(message.in_reply_to)),
            ("model", json!(made_by.map(|made| &made.model))),
            ("tools", if tools.is_empty() { Value::Null } else { json!(tools) }),
        ];
        Self::plain(EventKind::MessageCompleted, message.created_at, Some(project), Some(&message.session), fields)
    }

    /// A worker space that has come into another state.
    pub fn worker_space(project: &ProjectId, status: SpaceStatus, reasons: &[String], at: Timestamp) -> Self {
        let fields = [("status", json!(status)), ("reasons", json!(reasons))];
        Self::plain(EventKind::WorkerSpaceChanged, at, Some(project), None, fields)
    }

    /// Something that somebody should look at.
    pub fn alert(alert: Alert, subject: &str, message: &str, project: Option<&ProjectId>, at: Timestamp) -> Self {
        let fields = [("alert", json!(alert.as_str())), ("subject", json!(subject)), ("message", json!(message))];
        Self::plain(EventKind::Alert, at, project, None, fields)
    }
}
