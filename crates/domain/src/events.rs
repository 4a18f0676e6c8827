//! What happened, as it is told to those who watch. Events carry keys and metadata, never values.

mod readers;
mod tools;
mod work;

pub use readers::{CallReaders, Readers, Sight};

use crate::budgets::{LocalDay, Tally};
use crate::entries::Entry;
use crate::history::{Change, ChangeKind};
use crate::ids::{AgentId, ProjectId, SessionId, UserId, WorkspaceId, string_id};
use crate::items::{ItemKey, ItemScope};
use crate::money::Micros;
use crate::sessions::Session;
use crate::snapshots::Snapshot;
use crate::times::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt;

string_id! {
    /// What numbers its events without a gap: a session, the items of one scope, or a workspace as a whole.
    StreamId
}

impl StreamId {
    pub fn of_session(session: &SessionId) -> Self {
        Self(session.as_str().to_owned())
    }

    /// No session's id begins like this.
    pub fn of_items(scope: &ItemScope) -> Self {
        Self(format!("@{scope}"))
    }

    /// What concerns a workspace as a whole. No scope of items is called like this.
    pub fn of_workspace() -> Self {
        Self("@workspace".to_owned())
    }
}

/// An event on its way into the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub kind: EventKind,
    pub at: Timestamp,
    pub project: Option<ProjectId>,
    pub session: Option<SessionId>,
    /// The key it is about, for selections.
    pub key: Option<String>,
    /// Who may see it; everybody who sees its stream if not said.
    pub readable_by: Option<Readers>,
    /// Its own fields, beside `type`, `at`, `project` and `session`.
    pub fields: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    ContextWritten,
    ContextDeleted,
    ContextExpired,
    ContextSnapshot,
    ItemWritten,
    ItemDeleted,
    ItemPublished,
    ItemRecalled,
    BudgetWarning,
    BudgetReached,
    MessageCompleted,
    TaskQueued,
    TaskStarted,
    TaskWaiting,
    TaskCompleted,
    TaskFailed,
    TaskCancelled,
    WorkerSpaceChanged,
    Alert,
    NodeOnline,
    NodeOffline,
    ToolCallUpdated,
    ToolApprovalRequest,
    ToolApprovalResolved,
    ToolExecutionSignal,
    ToolResultAck,
}

impl EventKind {
    /// What is told of calls on people's machines, to those whom a call concerns.
    pub const OF_CALLS: [Self; 5] = [
        Self::ToolCallUpdated,
        Self::ToolApprovalRequest,
        Self::ToolApprovalResolved,
        Self::ToolExecutionSignal,
        Self::ToolResultAck,
    ];

    pub const ALL: [Self; 26] = [
        Self::ContextWritten,
        Self::ContextDeleted,
        Self::ContextExpired,
        Self::ContextSnapshot,
        Self::ItemWritten,
        Self::ItemDeleted,
        Self::ItemPublished,
        Self::ItemRecalled,
        Self::BudgetWarning,
        Self::BudgetReached,
        Self::MessageCompleted,
        Self::TaskQueued,
        Self::TaskStarted,
        Self::TaskWaiting,
        Self::TaskCompleted,
        Self::TaskFailed,
        Self::TaskCancelled,
        Self::WorkerSpaceChanged,
        Self::Alert,
        Self::NodeOnline,
        Self::NodeOffline,
        Self::ToolCallUpdated,
        Self::ToolApprovalRequest,
        Self::ToolApprovalResolved,
        Self::ToolExecutionSignal,
        Self::ToolResultAck,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextWritten => "CONTEXT_WRITTEN",
            Self::ContextDeleted => "CONTEXT_DELETED",
            Self::ContextExpired => "CONTEXT_EXPIRED",
            Self::ContextSnapshot => "CONTEXT_SNAPSHOT",
            Self::ItemWritten => "ITEM_WRITTEN",
            Self::ItemDeleted => "ITEM_DELETED",
            Self::ItemPublished => "ITEM_PUBLISHED",
            Self::ItemRecalled => "ITEM_RECALLED",
            Self::BudgetWarning => "BUDGET_WARNING",
            Self::BudgetReached => "BUDGET_REACHED",
            Self::MessageCompleted => "MESSAGE_COMPLETED",
            Self::TaskQueued => "TASK_QUEUED",
            Self::TaskStarted => "TASK_STARTED",
            Self::TaskWaiting => "TASK_WAITING",
            Self::TaskCompleted => "TASK_COMPLETED",
            Self::TaskFailed => "TASK_FAILED",
            Self::TaskCancelled => "TASK_CANCELLED",
            Self::WorkerSpaceChanged => "WORKER_SPACE_CHANGED",
            Self::Alert => "ALERT",
            Self::NodeOnline => "NODE_ONLINE",
            Self::NodeOffline => "NODE_OFFLINE",
            Self::ToolCallUpdated => "TOOL_CALL_UPDATED",
            Self::ToolApprovalRequest => "TOOL_APPROVAL_REQUEST",
            Self::ToolApprovalResolved => "TOOL_APPROVAL_RESOLVED",
            Self::ToolExecutionSignal => "TOOL_EXECUTION_SIGNAL",
            Self::ToolResultAck => "TOOL_RESULT_ACK",
        }
    }
}

/// An event as the log has it: numbered in the house and in its stream.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    pub seq: u64,
    pub stream_seq: u64,
    pub workspace: WorkspaceId,
    pub stream: StreamId,
    pub project: Option<ProjectId>,
    pub kind: String,
    pub key: Option<String>,
    pub readable_by: Option<Readers>,
    /// The rendered JSON object.
    pub data: String,
}

/// Where something is said that only those hear who listen at that moment: in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earshot {
    pub workspace: WorkspaceId,
    pub project: Option<ProjectId>,
    pub session: SessionId,
}

impl Earshot {
    pub fn of(session: &Session) -> Self {
        let Session { workspace, project, id, .. } = session;
        Self { workspace: workspace.clone(), project: project.clone(), session: id.clone() }
    }

    pub fn stream(&self) -> StreamId {
        StreamId::of_session(&self.session)
    }
}

/// What is shown to whoever watches and kept nowhere: it has no number, and nobody can ask for it again.
#[derive(Debug, Clone, PartialEq)]
pub struct Whisper {
    pub earshot: Earshot,
    pub kind: &'static str,
    /// The rendered JSON object.
    pub data: String,
}

impl Whisper {
    /// A part of a message on its way.
    pub const MESSAGE_DELTA: &'static str = "MESSAGE_DELTA";

    /// `fields`: its own, beside `type`, `at`, `workspace`, `project` and `session`.
    pub fn new(earshot: &Earshot, kind: &'static str, at: Timestamp, fields: Map<String, Value>) -> Self {
        let Earshot { workspace, project, session } = earshot;
        let data = rendered(kind, at, workspace, (project.as_ref(), Some(session)), fields);
        Self { earshot: earshot.clone(), kind, data }
    }
}

/// What an event says of a change of an item.
pub struct ItemChange<'a> {
    pub key: &'a ItemKey,
    pub version: u64,
    pub size_bytes: u64,
    pub agent: &'a AgentId,
    pub user: &'a UserId,
    pub project: Option<&'a ProjectId>,
    pub at: Timestamp,
}

impl Event {
    pub fn written(session: &Session, entry: &Entry) -> Self {
        let mut event = Self::about_key(EventKind::ContextWritten, session, &Change::written(entry));
        event.fields.insert("size".into(), entry.tokens.into());
        if let Some(expires_at) = entry.expires_at {
            event.fields.insert("expires_at".into(), json!(expires_at));
        }
        event
    }

    pub fn removed(session: &Session, change: &Change) -> Self {
        let kind = match change.kind {
            ChangeKind::Expired => EventKind::ContextExpired,
            _ => EventKind::ContextDeleted,
        };
        let mut event = Self::about_key(kind, session, change);
        event.fields.insert("size".into(), 0.into());
        event
    }

    fn about_key(kind: EventKind, session: &Session, change: &Change) -> Self {
        let fields = [
            ("key", json!(change.key)),
            ("version", change.version.into()),
            ("rev", change.rev.into()),
            ("written_by", json!(change.written_by)),
        ];
        Self {
            kind,
            at: change.written_at,
            project: session.project.clone(),
            session: Some(session.id.clone()),
            key: Some(change.key.as_str().to_owned()),
            readable_by: session.config.acl.then(|| Readers::Participants(change.access.readable_by.clone())),
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    pub fn snapshot(session: &Session, snapshot: &Snapshot) -> Self {
        let fields = [
            ("label", json!(snapshot.label)),
            ("rev", snapshot.rev.into()),
            ("written_by", json!(snapshot.taken_by)),
            ("key_count", snapshot.key_count.into()),
            ("size", snapshot.total_size_tokens.into()),
        ];
        Self {
            kind: EventKind::ContextSnapshot,
            at: snapshot.taken_at,
            project: session.project.clone(),
            session: Some(session.id.clone()),
            key: None,
            readable_by: None,
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// A change of an item, told to those who see its scope.
    pub fn item(kind: EventKind, scope: &ItemScope, change: &ItemChange<'_>) -> Self {
        let fields = [
            ("scope", json!(scope.as_str())),
            ("key", json!(change.key)),
            ("version", change.version.into()),
            ("updated_by", json!(change.agent)),
            ("on_behalf_of", json!(change.user)),
            ("size_bytes", change.size_bytes.into()),
        ];
        Self {
            kind,
            at: change.at,
            project: change.project.cloned(),
            session: None,
            key: Some(change.key.as_str().to_owned()),
            readable_by: None,
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// How much of a workspace's budget is gone.
    pub fn budget(kind: EventKind, at: Timestamp, limit: Micros, tally: Tally, today: LocalDay) -> Self {
        let fields = [
            ("day", json!(today.day)),
            ("limit_usd", limit.as_usd().into()),
            ("spent_usd", tally.spent.as_usd().into()),
            ("reserved_usd", tally.reserved.as_usd().into()),
            ("resets_at", json!(today.ends_at)),
        ];
        Self {
            kind,
            at,
            project: None,
            session: None,
            key: None,
            readable_by: None,
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// The one JSON object that every stream shows.
    pub fn render(&self, workspace: &WorkspaceId) -> String {
        let about = (self.project.as_ref(), self.session.as_ref());
        rendered(self.kind.as_str(), self.at, workspace, about, self.fields.clone())
    }
}

fn rendered(
    kind: &str,
    at: Timestamp,
    workspace: &WorkspaceId,
    (project, session): (Option<&ProjectId>, Option<&SessionId>),
    fields: Map<String, Value>,
) -> String {
    let mut object = Map::new();
    object.insert("type".into(), kind.into());
    object.insert("at".into(), json!(at));
    object.insert("workspace".into(), json!(workspace));
    if let Some(project) = project {
        object.insert("project".into(), json!(project));
    }
    if let Some(session) = session {
        object.insert("session".into(), json!(session));
    }
    object.extend(fields);
    Value::Object(object).to_string()
}
