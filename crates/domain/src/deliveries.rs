//! Answers owed to a place of a channel: what is tried again and when, and when it is given up.

use crate::channels::ChatType;
use crate::ids::{ProjectId, TaskId, UserId, WorkspaceId};
use crate::times::Timestamp;
use crate::workspaces::ChannelPlace;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// With the pauses between them: about a day.
pub const ATTEMPTS_MOST: u64 = 150;
/// Of what may have been said: nobody is told the same for a day.
pub const UNSURE_MOST: u64 = 8;
/// A provider that asks for more is asked before that.
const RETRY_LONGEST_MS: i64 = 3600 * 1000;
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
    /// How many parts of a long answer were taken: these are not said again.
    #[serde(default)]
    pub parts_sent: usize,
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

    /// Before an attempt: if nothing is heard of it, it is made again after a pause, as one that failed.
    #[must_use]
    pub fn begun(self, now: Timestamp) -> Self {
        let attempts = self.attempts + 1;
        Self { attempts, next_at: now.plus_ms(pause_ms(attempts)), ..self }
    }

    /// A part of it was taken.
    #[must_use]
    pub fn part_sent(mut self) -> Self {
        self.target.parts_sent += 1;
        self
    }

    #[must_use]
    pub fn sent(self, now: Timestamp) -> Self {
        Self { status: DeliveryStatus::Sent, last_error: None, ended_at: Some(now), ..self }
    }

    #[must_use]
    pub fn dropped(self, why: &str, now: Timestamp) -> Self {
        Self { status: DeliveryStatus::Dropped, last_error: Some(cut(why)), ended_at: Some(now), ..self }
    }

    /// After an attempt that failed: tried again after a growing pause, or given up.
    #[must_use]
    pub fn failed(self, failed: &Failed, now: Timestamp) -> Self {
        let last_error = Some(cut(&failed.why));
        match failed.next_attempt(self.attempts, now) {
            Some(next_at) => Self { next_at, last_error, ..self },
            None => Self { status: DeliveryStatus::Failed, last_error, ended_at: Some(now), ..self },
        }
    }
}

/// Why a provider did not take a message, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Without addresses and secrets.
    pub why: String,
    pub may_help_to_try_again: bool,
    /// It may have been said all the same, and be said twice if it is tried again.
    pub may_have_been_said: bool,
    /// What the provider asks for.
    pub retry_after: Option<Duration>,
}

impl Failed {
    /// Something that will not become better.
    pub fn for_good(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_help_to_try_again: false, may_have_been_said: false, retry_after: None }
    }

    pub fn for_now(why: impl Into<String>) -> Self {
        Self { may_help_to_try_again: true, ..Self::for_good(why) }
    }

    /// When it is tried again after so many attempts. None: it is given up.
    pub(crate) fn next_attempt(&self, attempts: u64, now: Timestamp) -> Option<Timestamp> {
        let most = if self.may_have_been_said { UNSURE_MOST } else { ATTEMPTS_MOST };
        let wanted = self.retry_after.map_or(0, |wait| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let pause = pause_ms(attempts).max(wanted.min(RETRY_LONGEST_MS));
        (self.may_help_to_try_again && attempts < most).then(|| now.plus_ms(pause))
    }
}

/// The pause after so many attempts.
pub(crate) fn pause_ms(attempts: u64) -> i64 {
    FIRST_PAUSE_MS.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(LONGEST_PAUSE_MS)
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
        let target = DeliveryTarget {
            place,
            is_direct: false,
            thread_id: None,
            reply_to: None,
            sender_id: "1".into(),
            parts_sent: 0,
        };
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
            let next = owed.clone().begun(now).failed(&Failed::for_now("the provider failed"), now);
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
        let failed = delivery().begun(Timestamp::from_ms(1));
        let failed = failed.failed(&Failed::for_good("x".repeat(5_000)), Timestamp::from_ms(1));
        assert_eq!((failed.status, failed.last_error.unwrap().len()), (DeliveryStatus::Failed, ERROR_LONGEST));
    }

    #[test]
    fn what_may_have_been_said_is_said_again_a_few_times_only_and_a_provider_is_waited_for() {
        let unsure = Failed { may_have_been_said: true, ..Failed::for_now("it did not answer") };
        let now = Timestamp::from_ms(0);
        assert!(unsure.next_attempt(UNSURE_MOST - 1, now).is_some() && unsure.next_attempt(UNSURE_MOST, now).is_none());
        let asked =
            |seconds: u64| Failed { retry_after: Some(Duration::from_secs(seconds)), ..Failed::for_now("wait") };
        let after = |failed: Failed| failed.next_attempt(1, now).map(Timestamp::as_ms);
        assert_eq!(after(asked(1)), Some(FIRST_PAUSE_MS), "never sooner than by itself");
        assert_eq!(after(asked(120)), Some(120_000));
        assert_eq!(after(asked(u64::MAX)), Some(RETRY_LONGEST_MS));
    }

    #[test]
    fn an_attempt_of_which_nothing_is_heard_counts_and_is_made_again_later() {
        let begun = delivery().begun(Timestamp::from_ms(10));
        assert_eq!((begun.attempts, begun.next_at.as_ms()), (1, 10 + FIRST_PAUSE_MS));
        assert_eq!(begun.clone().part_sent().target.parts_sent, 1);
        assert_eq!(begun.sent(Timestamp::from_ms(11)).attempts, 1);
    }
}
