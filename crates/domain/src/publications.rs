//! Publications: what somebody copied from their own items to a shared agent, and whether it can be taken back.

use crate::ids::{AgentId, ItemId, PublicationId, UserId};
use crate::items::{Item, ItemKey, Source};
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    pub id: PublicationId,
    pub user: UserId,
    /// The agent that published.
    pub agent: AgentId,
    pub source: Source,
    pub target_agent: AgentId,
    pub target_key: ItemKey,
    /// The copy as it was made: this row, at this version.
    pub item: ItemId,
    pub item_version: u64,
    pub published_at: Timestamp,
}

/// What became of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyState {
    /// As it was published: it can be recalled.
    Unchanged,
    /// Somebody wrote to it since.
    Changed,
    /// Somebody deleted it.
    Gone,
}

impl CopyState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

impl Publication {
    /// `found` is what lies under the copy's key now: its row and version.
    pub fn state(&self, found: Option<(&ItemId, u64)>) -> CopyState {
        match found {
            Some((id, version)) if *id == self.item && version == self.item_version => CopyState::Unchanged,
            Some((id, _)) if *id == self.item => CopyState::Changed,
            _ => CopyState::Gone,
        }
    }

    pub fn require_unchanged(&self, found: Option<&Item>) -> Result<()> {
        let message = match self.state(found.map(|item| (&item.id, item.version))) {
            CopyState::Unchanged => return Ok(()),
            CopyState::Changed => "the copy was changed since it was published: it is no longer yours to recall",
            CopyState::Gone => "the copy was deleted since it was published: there is nothing to recall",
        };
        Err(Refusal::new(Code::PublicationChanged, message))
    }
}
