//! What happened, as it is told to those who watch. Events carry keys and metadata, never values.

use crate::entries::{Access, Entry};
use crate::history::{Change, ChangeKind};
use crate::ids::{SessionId, WorkspaceId};
use crate::keys::Key;
use crate::participants::{Participant, Patterns};
use crate::snapshots::Snapshot;
use crate::times::Timestamp;
use serde_json::{Map, Value, json};

/// An event on its way into the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub kind: EventKind,
    pub at: Timestamp,
    pub session: SessionId,
    /// The key it is about, for selections.
    pub key: Option<Key>,
    /// Who may see it, where the session has access lists.
    pub readable_by: Option<Patterns>,
    /// Its own fields, beside `type`, `at` and `session`.
    pub fields: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    ContextWritten,
    ContextDeleted,
    ContextExpired,
    ContextSnapshot,
}

impl EventKind {
    pub const ALL: [Self; 4] =
        [Self::ContextWritten, Self::ContextDeleted, Self::ContextExpired, Self::ContextSnapshot];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextWritten => "CONTEXT_WRITTEN",
            Self::ContextDeleted => "CONTEXT_DELETED",
            Self::ContextExpired => "CONTEXT_EXPIRED",
            Self::ContextSnapshot => "CONTEXT_SNAPSHOT",
        }
    }
}

/// An event as the log has it: numbered in the house and in its session.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    pub seq: u64,
    pub session_seq: u64,
    pub workspace: WorkspaceId,
    pub session: SessionId,
    pub kind: String,
    pub key: Option<String>,
    pub readable_by: Option<Patterns>,
    /// The rendered JSON object.
    pub data: String,
}

impl RecordedEvent {
    pub fn is_visible_to(&self, participant: &Participant) -> bool {
        self.readable_by.as_ref().is_none_or(|patterns| patterns.admits(participant))
    }
}

impl Event {
    pub fn written(session: &SessionId, entry: &Entry, acl: bool) -> Self {
        let mut event = Self::about_key(EventKind::ContextWritten, session, &Change::written(entry), acl);
        event.fields.insert("size".into(), entry.tokens.into());
        if let Some(expires_at) = entry.expires_at {
            event.fields.insert("expires_at".into(), json!(expires_at));
        }
        event
    }

    pub fn removed(session: &SessionId, change: &Change, acl: bool) -> Self {
        let kind = match change.kind {
            ChangeKind::Expired => EventKind::ContextExpired,
            _ => EventKind::ContextDeleted,
        };
        let mut event = Self::about_key(kind, session, change, acl);
        event.fields.insert("size".into(), 0.into());
        event
    }

    fn about_key(kind: EventKind, session: &SessionId, change: &Change, acl: bool) -> Self {
        let fields = [
            ("key", json!(change.key)),
            ("version", change.version.into()),
            ("rev", change.rev.into()),
            ("written_by", json!(change.written_by)),
        ];
        Self {
            kind,
            at: change.written_at,
            session: session.clone(),
            key: Some(change.key.clone()),
            readable_by: acl.then(|| visible(&change.access)),
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    pub fn snapshot(session: &SessionId, snapshot: &Snapshot) -> Self {
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
            session: session.clone(),
            key: None,
            readable_by: None,
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// The one JSON object that every stream shows.
    pub fn render(&self, workspace: &WorkspaceId) -> String {
        let mut object = Map::new();
        object.insert("type".into(), self.kind.as_str().into());
        object.insert("at".into(), json!(self.at));
        object.insert("workspace".into(), json!(workspace));
        object.insert("session".into(), json!(self.session));
        object.extend(self.fields.clone());
        Value::Object(object).to_string()
    }
}

fn visible(access: &Access) -> Patterns {
    access.readable_by.clone()
}
