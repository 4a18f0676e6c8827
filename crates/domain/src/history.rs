//! What a key was: one record for every change, until it is trimmed.

use crate::entries::{Access, Entry};
use crate::keys::Key;
use crate::participants::Participant;
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Written,
    Deleted,
    Expired,
}

impl ChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Deleted => "deleted",
            Self::Expired => "expired",
        }
    }
}

/// One change of one key. A removal has no value and keeps the version that it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub key: Key,
    pub kind: ChangeKind,
    pub version: u64,
    pub rev: u64,
    pub value: Option<String>,
    pub written_by: Participant,
    pub written_at: Timestamp,
    pub access: Access,
}

impl Change {
    pub fn written(entry: &Entry) -> Self {
        Self {
            key: entry.key.clone(),
            kind: ChangeKind::Written,
            version: entry.version,
            rev: entry.rev,
            value: Some(entry.value.clone()),
            written_by: entry.written_by.clone(),
            written_at: entry.written_at,
            access: entry.access.clone(),
        }
    }

    /// The end of `entry`: by a participant, or by its own time being over (then its writer stays its author).
    pub fn removed(entry: &Entry, kind: ChangeKind, rev: u64, by: &Participant, at: Timestamp) -> Self {
        Self {
            key: entry.key.clone(),
            kind,
            version: entry.version,
            rev,
            value: None,
            written_by: by.clone(),
            written_at: at,
            access: entry.access.clone(),
        }
    }
}

/// What is promised of a key's history: the newest `keep` records, though a few more may be stored.
pub fn newest(mut stored: Vec<Change>, keep: u64) -> Vec<Change> {
    let surplus = stored.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    stored.split_off(surplus)
}

/// Picks the asked-for versions out of what is retained, oldest first. A version that was there and has been
/// trimmed is `EXPIRED`, never an empty answer.
pub fn select_versions(retained: Vec<Change>, wanted: Option<&[u64]>, newest_version: u64) -> Result<Vec<Change>> {
    let Some(wanted) = wanted else { return Ok(retained) };
    let oldest = retained.iter().find(|change| change.kind == ChangeKind::Written).map(|change| change.version);
    // The end of an earlier life of the key tells how far that one got.
    let ended = retained.first().filter(|change| change.kind != ChangeKind::Written).map_or(0, |change| change.version);
    for version in wanted {
        let kept = retained.iter().any(|change| change.version == *version && change.kind == ChangeKind::Written);
        let once_was = *version >= 1 && (*version < oldest.unwrap_or(newest_version + 1) || *version <= ended);
        if !kept && once_was {
            return Err(trimmed().with("version", *version).with("oldest_version", oldest));
        }
    }
    Ok(retained.into_iter().filter(|change| wanted.contains(&change.version)).collect())
}

pub fn trimmed() -> Refusal {
    Refusal::new(Code::Expired, "that part of the history has been trimmed (`config.history_keep`)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::participants::Participant;

    fn change(version: u64) -> Change {
        let by = Participant::orchestrator();
        Change {
            key: Key::parse("a", false).unwrap(),
            kind: ChangeKind::Written,
            version,
            rev: version,
            value: Some(String::new()),
            written_by: by.clone(),
            written_at: Timestamp::from_ms(0),
            access: Access::open(by),
        }
    }

    #[test]
    fn trimmed_versions_are_expired_and_future_ones_are_just_not_there() {
        let retained = || vec![change(4), change(5)];
        assert_eq!(select_versions(retained(), None, 5).unwrap().len(), 2);
        assert_eq!(select_versions(retained(), Some(&[5, 9]), 5).unwrap().len(), 1);
        assert_eq!(select_versions(retained(), Some(&[3]), 5).unwrap_err().code, Code::Expired);
        assert_eq!(select_versions(vec![], Some(&[2]), 2).unwrap_err().code, Code::Expired);
        assert!(select_versions(vec![], Some(&[3]), 2).unwrap().is_empty());
    }
}
