//! What people are told in a channel about an approval that waits for them: owed, told, and concluded when it is over.
//!
//! What is said is in `words`; whether it may be approved by a button under it follows from what could be shown there, and
//! is kept with the message that was sent. Pauses are those of all that is owed to channels.

mod words;

pub use words::{Question, Words, conclusion, group_words};

use crate::deliveries::{DeliveryTarget, Failed, cut, pause_ms};
use crate::ids::{ApprovalId, ProjectId, UserId, WorkspaceId};
use crate::times::Timestamp;
use crate::workspaces::{ChannelPlace, Identity};
use serde::{Deserialize, Serialize};

/// Whoever sits at a console or terminal answers there: people are not written to before so long.
pub const PATIENCE_MS: i64 = 15_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// To the person alone, with all that can be shown.
    Direct,
    /// A line in the group from which the turn came: that there is something, and nothing of it.
    Group,
}

impl NoticeKind {
    pub const ALL: [Self; 2] = [Self::Direct, Self::Group];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Group => "group",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeStatus {
    Owed,
    /// Told. A direct one is still to be concluded.
    Sent,
    Concluded,
    /// Given up: a provider that would not take it, or a day of trying.
    Failed,
    /// Not told, because there was nothing to decide any more, or not by this person.
    Dropped,
}

impl NoticeStatus {
    pub const ALL: [Self; 5] = [Self::Owed, Self::Sent, Self::Concluded, Self::Failed, Self::Dropped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owed => "owed",
            Self::Sent => "sent",
            Self::Concluded => "concluded",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// The message that a notice became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    pub place: ChannelPlace,
    /// The one with the buttons.
    pub message_id: String,
    /// Of what it showed.
    pub digest: String,
    /// Whether it showed all of it, and so could be approved there.
    pub offers_approval: bool,
}

/// How often something was tried in vain, and when it is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tries {
    pub attempts: u64,
    pub next_at: Timestamp,
    pub last_error: Option<String>,
}

impl Tries {
    fn none(now: Timestamp) -> Self {
        Self { attempts: 0, next_at: now, last_error: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub approval: ApprovalId,
    /// Who is told: whoever the call would be made for, and by which account.
    pub user: UserId,
    pub identity: Identity,
    pub kind: NoticeKind,
    /// The message that began the turn, if one of a channel did.
    pub origin: Option<DeliveryTarget>,
    pub told: Option<Told>,
    pub status: NoticeStatus,
    pub tries: Tries,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl Notice {
    pub fn owed(
        (workspace, project, approval): (WorkspaceId, ProjectId, ApprovalId),
        (user, identity): (UserId, Identity),
        origin: Option<DeliveryTarget>,
        now: Timestamp,
    ) -> Self {
        let (kind, status, tries) = (NoticeKind::Direct, NoticeStatus::Owed, Tries::none(now));
        let (told, created_at, ended_at) = (None, now, None);
        Self { workspace, project, approval, user, identity, kind, origin, told, status, tries, created_at, ended_at }
    }

    /// One text for one notice.
    pub fn id(&self) -> String {
        format!("{}:{}:{}:{}", self.approval, self.identity.channel, self.identity.id, self.kind.as_str())
    }

    /// Where it is said, as far as that is known: before a provider names the place, whom it is for.
    pub fn place(&self) -> String {
        let of_group = self.origin.as_ref().filter(|_| self.kind == NoticeKind::Group).map(|origin| &origin.place);
        let place = self.told.as_ref().map(|told| &told.place).or(of_group);
        place.map_or_else(|| format!("{}:{}", self.identity.channel, self.identity.id), ChannelPlace::as_key)
    }

    /// What is said in the group from which the turn came, once it is known whether the person could be written to.
    pub fn in_group(&self, now: Timestamp) -> Option<Self> {
        let origin = self.origin.as_ref().filter(|origin| !origin.is_direct)?;
        let is_known = matches!(self.status, NoticeStatus::Sent | NoticeStatus::Failed);
        let is_meant = self.kind == NoticeKind::Direct && is_known;
        is_meant.then(|| Self {
            kind: NoticeKind::Group,
            origin: Some(origin.clone()),
            told: None,
            status: NoticeStatus::Owed,
            tries: Tries::none(now),
            created_at: now,
            ended_at: None,
            ..self.clone()
        })
    }

    #[must_use]
    pub fn told(self, told: Told, now: Timestamp) -> Self {
        Self { status: NoticeStatus::Sent, told: Some(told), tries: Tries::none(now), ..self }
    }

    /// A line in a group, which nobody takes back.
    #[must_use]
    pub fn said(self, now: Timestamp) -> Self {
        Self { status: NoticeStatus::Sent, tries: Tries::none(now), ended_at: Some(now), ..self }
    }

    #[must_use]
    pub fn concluded(self, now: Timestamp) -> Self {
        Self { status: NoticeStatus::Concluded, tries: Tries::none(now), ended_at: Some(now), ..self }
    }

    #[must_use]
    pub fn dropped(self, why: &str, now: Timestamp) -> Self {
        let tries = Tries { last_error: Some(cut(why)), ..self.tries };
        Self { status: NoticeStatus::Dropped, tries, ended_at: Some(now), ..self }
    }

    /// Before an attempt: if nothing is heard of it, it is made again after a pause, as one that failed.
    #[must_use]
    pub fn begun(self, now: Timestamp) -> Self {
        let attempts = self.tries.attempts + 1;
        let tries = Tries { attempts, next_at: now.plus_ms(pause_ms(attempts)), ..self.tries };
        Self { tries, ..self }
    }

    /// After an attempt that failed: tried again after a growing pause, or given up. A message that cannot be replaced any
    /// more has nothing to be concluded.
    #[must_use]
    pub fn failed(self, failed: &Failed, now: Timestamp) -> Self {
        let last_error = Some(cut(&failed.why));
        match failed.next_attempt(self.tries.attempts, now) {
            Some(next_at) => Self { tries: Tries { next_at, last_error, ..self.tries }, ..self },
            None if self.told.is_some() => Self { tries: Tries { last_error, ..self.tries }, ..self }.concluded(now),
            None => {
                let tries = Tries { last_error, ..self.tries };
                Self { status: NoticeStatus::Failed, tries, ended_at: Some(now), ..self }
            }
        }
    }

    /// Whether this message in that place is the one in which this person was told, by this account.
    pub fn was_told(&self, (user, identity): (&UserId, &Identity), place: &ChannelPlace, message_id: &str) -> bool {
        let is_theirs = self.user == *user && self.identity == *identity;
        let is_it = |told: &Told| told.place == *place && told.message_id == message_id;
        is_theirs && self.kind == NoticeKind::Direct && self.told.as_ref().is_some_and(is_it)
    }
}

#[cfg(test)]
mod tests;
