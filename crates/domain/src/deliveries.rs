//! Answers owed to a place of a channel: what is tried again and when, and when it is given up.

use crate::channels::ChatType;
use crate::ids::{ProjectId, TaskId, UserId, WorkspaceId};
use crate::times::Timestamp;
use crate::workspaces::ChannelPlace;
use serde::{Deserialize, Serialize};

/// With the pauses between them: about a day.
pub const ATTEMPTS_MOST: u64 = 150;
const FIRST_PAUSE_MS: i64 = 5_000;
const LONGEST_PAUSE_MS: i64 = 10 * 60 * 1000;
const ERROR_LONGEST: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    Pending,
    Sent,
    /// Given up: a provider that would not take it, or a day of trying.
    Failed,
    /// Not sent, because the place leads there no more, or there was nothing to say.
    Dropped,
}

impl DeliveryStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Sent, Self::Failed, Self::Dropped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// Where an answer goes, and whose message it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryTarget {
    pub place: ChannelPlace,
    pub is_direct: bool,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    pub sender_id: String,
}

impl DeliveryTarget {
    pub fn chat(&self) -> ChatType {
        if self.is_direct { ChatType::Direct } else { ChatType::Group }
    }
}

/// The answer to one message of a channel, from the moment it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub workspace: WorkspaceId,
    pub id: String,
    pub target: DeliveryTarget,
    /// Whose turn it is.
    pub user: UserId,
    pub project: ProjectId,
    pub task: TaskId,
    pub status: DeliveryStatus,
    pub attempts: u64,
    pub next_at: Timestamp,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl Delivery {
    pub fn owed(
        (workspace, project, task): (WorkspaceId, ProjectId, TaskId),
        id: String,
        user: UserId,
        target: DeliveryTarget,
        now: Timestamp,
    ) -> Self {
        let (status, attempts, last_error) = (DeliveryStatus::Pending, 0, None);
        let (next_at, created_at, ended_at) = (now, now, None);
        Self { workspace, id, target, user, project, task, status, attempts, next_at, last_error, created_at, ended_at }
    }

    #[must_use]
    pub fn sent(self, now: Timestamp) -> Self {
        let attempts = self.attempts + 1;
        Self { status: DeliveryStatus::Sent, attempts, last_error: None, ended_at: Some(now), ..self }
    }

    #[must_use]
    pub fn dropped(self, why: &str, now: Timestamp) -> Self {
        Self { status: DeliveryStatus::Dropped, last_error: Some(cut(why)), ended_at: Some(now), ..self }
    }

    /// After an attempt that failed: tried again after a growing pause, or given up.
    #[must_use]
    pub fn failed(self, why: &str, may_help: bool, now: Timestamp) -> Self {
        let attempts = self.attempts + 1;
        let last_error = Some(cut(why));
        match next_attempt(attempts, may_help, now) {
            Some(next_at) => Self { attempts, next_at, last_error, ..self },
            None => Self { status: DeliveryStatus::Failed, attempts, last_error, ended_at: Some(now), ..self },
        }
    }
}

/// When something is tried again that failed so often: after a growing pause. None: it is given up.
pub(crate) fn next_attempt(attempts: u64, may_help: bool, now: Timestamp) -> Option<Timestamp> {
    let doubled = FIRST_PAUSE_MS.saturating_mul(1 << attempts.saturating_sub(1).min(20));
    (may_help && attempts < ATTEMPTS_MOST).then(|| now.plus_ms(doubled.min(LONGEST_PAUSE_MS)))
}

/// As much of an error as is kept.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(ERROR_LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery() -> Delivery {
        let place =
            ChannelPlace { channel: "telegram".into(), chat_id: Some("-100".into()), guild_id: None, channel_id: None };
        let target = DeliveryTarget { place, is_direct: false, thread_id: None, reply_to: None, sender_id: "1".into() };
        let whose = (
            WorkspaceId::parse("homelab").unwrap(),
            ProjectId::from_trusted("prj_1".into()),
            TaskId::from_trusted("tsk_1".into()),
        );
        Delivery::owed(whose, "dlv_1".into(), UserId::parse("sean").unwrap(), target, Timestamp::from_ms(0))
    }

    #[test]
    fn a_failed_attempt_is_made_again_after_growing_pauses_for_a_day() {
        let (mut owed, mut now, mut attempts) = (delivery(), Timestamp::from_ms(0), 0);
        let mut longest = 0;
        while owed.status == DeliveryStatus::Pending {
            let next = owed.clone().failed("the provider failed", true, now);
            attempts += 1;
            if next.status == DeliveryStatus::Pending {
                let pause = next.next_at.as_ms() - now.as_ms();
                assert!(pause >= longest, "pauses grow");
                longest = pause;
                now = next.next_at;
            }
            owed = next;
        }
        assert_eq!(owed.status, DeliveryStatus::Failed);
        assert_eq!((owed.attempts, longest), (attempts, LONGEST_PAUSE_MS));
        let hours = now.as_ms() / 3_600_000;
        assert!((23..=25).contains(&hours), "{hours}");
    }

    #[test]
    fn what_no_provider_takes_is_given_up_at_once_and_an_error_is_short() {
        let failed = delivery().failed(&"x".repeat(5_000), false, Timestamp::from_ms(1));
        assert_eq!((failed.status, failed.last_error.unwrap().len()), (DeliveryStatus::Failed, ERROR_LONGEST));
    }
}
