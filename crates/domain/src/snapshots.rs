//! Snapshots: a whole shared context, frozen under a label.

use crate::ids::is_word;
use crate::participants::Participant;
use crate::sessions::Session;
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

/// The label of a snapshot: `[A-Za-z0-9_.-]{1,64}`, except `now`, which `diff` reads as the present.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(String);

impl Label {
    pub fn parse(text: &str) -> Result<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if is_word(text, 64, allowed) && text != "now" {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::invalid_field("label", "a label has 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`, and is not `now`"))
    }

    /// Of what the house froze by itself at a rev. Nobody can ask for a label like this one.
    pub fn of_house(rev: u64) -> Self {
        Self(format!("{}{rev}", Self::OF_HOUSE))
    }

    /// What the labels of the house begin with.
    pub const OF_HOUSE: &str = "~";

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn from_trusted(text: String) -> Self {
        Self(text)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub label: Label,
    pub taken_at: Timestamp,
    pub taken_by: Participant,
    pub rev: u64,
    pub key_count: u64,
    pub total_size_tokens: u64,
}

pub fn snapshot_not_found() -> Refusal {
    Refusal::new(Code::SnapshotNotFound, "there is no snapshot of that label in this session")
}

/// With access lists only the orchestrator or the session's creator may turn back time for everybody.
pub fn may_restore(session: &Session, participant: &Participant) -> Result<()> {
    session.require_active()?;
    let creator = Participant::of_user(&session.created_by);
    if !session.config.acl || participant.is_orchestrator() || *participant == creator {
        return Ok(());
    }
    Err(Refusal::forbidden("only the orchestrator or the session's creator may restore a snapshot"))
}
