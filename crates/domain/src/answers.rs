//! What the `shared_context` tool answers, one type per action. The same JSON for people, programs and models.

use crate::diffs::Diff;
use crate::entries::Entry;
use crate::history::{Change, ChangeKind};
use crate::keys::Key;
use crate::participants::Participant;
use crate::snapshots::Snapshot;
use crate::times::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyListing {
    pub key: Key,
    pub written_by: Participant,
    pub written_at: Timestamp,
    pub version: u64,
    pub rev: u64,
    pub value_size_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    pub keys: Vec<KeyListing>,
    pub total_size_tokens: u64,
    pub max_store_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadEntry {
    pub key: Key,
    pub value: String,
    pub written_by: Participant,
    pub written_at: Timestamp,
    pub version: u64,
    pub rev: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Written {
    pub key: Key,
    pub version: u64,
    pub rev: u64,
    pub written_by: Participant,
    pub written_at: Timestamp,
    pub value_size_tokens: u64,
    pub total_size_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deleted {
    pub deleted: Key,
    pub previous_version: u64,
    pub rev: u64,
    pub total_size_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    pub entries: Vec<ReadEntry>,
    pub missing: Vec<Key>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryItem {
    pub version: u64,
    pub rev: u64,
    pub value: Option<String>,
    pub written_by: Participant,
    pub written_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub key: Key,
    pub history: Vec<HistoryItem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotList {
    pub snapshots: Vec<Snapshot>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotContent {
    #[serde(flatten)]
    pub snapshot: Snapshot,
    pub entries: Vec<ReadEntry>,
    pub missing: Vec<Key>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RestoredKey {
    pub key: Key,
    pub version: u64,
    pub rev: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Restored {
    pub label: String,
    pub restored: Vec<RestoredKey>,
    pub deleted: Vec<Key>,
    pub rev: u64,
    pub total_size_tokens: u64,
}

/// The answer to any action.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Listing(Listing),
    Entry(ReadEntry),
    Written(Written),
    Deleted(Deleted),
    Batch(Batch),
    History(History),
    Snapshot(Snapshot),
    Snapshots(SnapshotList),
    SnapshotContent(SnapshotContent),
    Restored(Restored),
    Diff(Diff),
}

impl From<Entry> for ReadEntry {
    fn from(entry: Entry) -> Self {
        Self {
            key: entry.key,
            value: entry.value,
            written_by: entry.written_by,
            written_at: entry.written_at,
            version: entry.version,
            rev: entry.rev,
            expires_at: entry.expires_at,
        }
    }
}

impl From<Change> for HistoryItem {
    fn from(change: Change) -> Self {
        Self {
            version: change.version,
            rev: change.rev,
            value: change.value,
            written_by: change.written_by,
            written_at: change.written_at,
            deleted: (change.kind != ChangeKind::Written).then_some(true),
            expired: (change.kind == ChangeKind::Expired).then_some(true),
        }
    }
}
