//! Tasks: work queued for an agent, and the states it goes through. Pure; the bus asks here before every step.

use crate::ids::{MessageId, ProjectId, SessionId, TaskId, UserId};
use crate::messages::{Failure, NamedAgent};
use crate::participants::Participant;
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

/// How long a task may run before it is given up.
pub const RUNNING_LONGEST_S: u64 = 30 * 60;
/// Steps of one turn: calls of the model, each with the tools it asks for.
pub const STEPS_MOST: u32 = 20;
/// Messages that agents may send one after another before a person says something.
pub const HOPS_MOST: u64 = 16;
/// Tasks of agents that may be waiting on one another in a session.
pub const DEPTH_MOST: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Queued,
    Running,
    /// For a call of a tool, or a person's decision. Holds no place among the running.
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Cancelled];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether a task in this state may go on to that one.
    pub fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Queued, Self::Running)
            | (Self::Running, Self::Waiting | Self::Completed)
            // What it waited for has come: it queues for a place among the running.
            | (Self::Waiting, Self::Queued) => true,
            (from, Self::Failed | Self::Cancelled) => !from.has_ended(),
            _ => false,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    #[default]
    Normal,
    High,
}

impl Priority {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: TaskId,
    pub project: ProjectId,
    pub session: SessionId,
    pub agent: NamedAgent,
    pub talk: TaskTalk,
    pub sender: Sender,
    pub status: TaskStatus,
    pub priority: Priority,
    /// How many messages of agents led to it since a person spoke.
    pub hops: u64,
    pub times: TaskTimes,
    /// The server that runs it.
    pub holder: Option<String>,
    pub error: Option<Failure>,
}

/// The messages around it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskTalk {
    /// The one that it answers, and its number in the session.
    pub message: MessageId,
    pub message_number: u64,
    /// The number of the one that ended it.
    pub reply_number: Option<u64>,
}

/// Who asked for it, and on whose behalf it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    pub user: UserId,
    pub participant: Participant,
}

impl Sender {
    pub fn is_agent(&self) -> bool {
        self.participant != Participant::of_user(&self.user)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskTimes {
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When it is given up if it still runs.
    pub deadline_at: Option<Timestamp>,
}

impl Task {
    /// The task as it stands once it runs here; none if it may not.
    #[must_use]
    pub fn started(&self, holder: &str, now: Timestamp) -> Option<Self> {
        let times = TaskTimes {
            started_at: self.times.started_at.or(Some(now)),
            deadline_at: Some(now.plus_seconds(RUNNING_LONGEST_S)),
            ..self.times
        };
        self.moved(TaskStatus::Running).map(|task| Self { times, holder: Some(holder.to_owned()), ..task })
    }

    /// The task as it stands while somebody else has to act; it holds no place and nobody's deadline.
    #[must_use]
    pub fn parked(&self) -> Option<Self> {
        self.moved(TaskStatus::Waiting).map(Self::let_go)
    }

    /// The task as it stands when what it waited for has come.
    #[must_use]
    pub fn resumed(&self) -> Option<Self> {
        self.moved(TaskStatus::Queued).map(Self::let_go)
    }

    /// The task as it stands at its end; none if it has ended already.
    #[must_use]
    pub fn ended(&self, status: TaskStatus, error: Option<Failure>, now: Timestamp) -> Option<Self> {
        let task = status.has_ended().then(|| self.moved(status))??;
        let times = TaskTimes { ended_at: Some(now), deadline_at: None, ..task.times };
        Some(Self { times, error, holder: None, ..task })
    }

    fn let_go(self) -> Self {
        Self { holder: None, times: TaskTimes { deadline_at: None, ..self.times }, ..self }
    }

    fn moved(&self, status: TaskStatus) -> Option<Self> {
        self.status.may_become(status).then(|| Self { status, ..self.clone() })
    }

    /// The task with the message that ended it.
    #[must_use]
    pub fn replied(self, number: u64) -> Self {
        Self { talk: TaskTalk { reply_number: Some(number), ..self.talk }, ..self }
    }
}

pub fn queue_full(most: u64) -> Refusal {
    let message = format!("{most} tasks are waiting for this agent already: try again a little later");
    Refusal::new(Code::QueueFull, message).with("retry_after_ms", 1_000)
}

pub fn has_ended(status: TaskStatus) -> Refusal {
    Refusal::new(Code::TaskEnded, format!("the task has ended already: it is {}", status.as_str()))
        .with("status", status.as_str())
}

pub fn interrupted() -> Failure {
    let message = "interrupted: the server stopped while this was being worked on; send the message again".to_owned();
    Failure { code: Code::Interrupted, message }
}

pub fn overdue() -> Failure {
    let message = format!("it ran for more than {} minutes and was given up", RUNNING_LONGEST_S / 60);
    Failure { code: Code::TaskOverdue, message }
}

/// Whether an agent's message may start another task: agents that answer each other must come to an end.
pub fn check_chain(hops: u64, depth: u64) -> Result<()> {
    if hops <= HOPS_MOST && depth <= DEPTH_MOST {
        return Ok(());
    }
    let message =
        "agents of this session have been answering each other for long enough: a person has to say something";
    Err(Refusal::new(Code::HopLimit, message).with("hops", hops).with("depth", depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_goes_through_its_states_and_ends_once() {
        use TaskStatus::{Cancelled, Completed, Failed, Queued, Running, Waiting};
        let allowed = [
            (Queued, Running),
            (Queued, Failed),
            (Queued, Cancelled),
            (Running, Waiting),
            (Running, Completed),
            (Running, Failed),
            (Running, Cancelled),
            (Waiting, Queued),
            (Waiting, Failed),
            (Waiting, Cancelled),
        ];
        for from in TaskStatus::ALL {
            for to in TaskStatus::ALL {
                assert_eq!(from.may_become(to), allowed.contains(&(from, to)), "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn a_chain_of_agents_comes_to_an_end() {
        for (hops, depth, expected) in
            [(0, 0, true), (HOPS_MOST, DEPTH_MOST, true), (HOPS_MOST + 1, 0, false), (1, DEPTH_MOST + 1, false)]
        {
            assert_eq!(check_chain(hops, depth).is_ok(), expected, "{hops} {depth}");
        }
    }
}
