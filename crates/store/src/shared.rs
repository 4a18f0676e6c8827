//! What an engine shares with the rest of the house: how it is, what it has done, and whom it tells.

use crate::Error;
use crate::fan_out::FanOut;
use crate::sync::Mutex;
use crate::tx::Told;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Whether writes are being taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    Healthy,
    /// The last write found the disk full; the next one tries again.
    Full,
    /// The last write failed; nothing is acknowledged until the database has been opened again and checked.
    Failed(String),
}

impl Condition {
    fn from_failure(error: &Error) -> Self {
        if error.is_full() { Self::Full } else { Self::Failed(error.to_string()) }
    }

    pub(crate) fn refusal(&self) -> Error {
        match self {
            Self::Full => Error::StorageFull,
            _ => Error::Unavailable("the last write failed; the database is being opened again".into()),
        }
    }
}

/// What has been written, for the metrics page.
#[derive(Debug, Default)]
pub struct WriterFigures {
    pub commits: AtomicU64,
    pub operations: AtomicU64,
    pub commit_micros: AtomicU64,
    /// Batches that were run again because another got in between or the connection broke. SQLite has none.
    pub retries: AtomicU64,
}

impl WriterFigures {
    fn committed(&self, operations: usize, took: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.operations.fetch_add(operations as u64, Ordering::Relaxed);
        self.commit_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

pub(crate) struct Shared {
    pub(crate) fan_out: FanOut,
    condition: Mutex<Condition>,
    pub(crate) figures: WriterFigures,
    /// Moves with every commit after which somebody may do less.
    pub(crate) rights: watch::Sender<u64>,
    /// Moves with every commit that changed or removed an agent.
    pub(crate) agents_epoch: AtomicU64,
    pub(crate) expiry_set: Notify,
    /// Rung when a task has ended.
    pub(crate) task_ended: Notify,
    /// Rung when an approval was asked for, is over or is gone.
    pub(crate) approvals_moved: Notify,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            fan_out: FanOut::default(),
            condition: Mutex::new(Condition::Healthy),
            figures: WriterFigures::default(),
            rights: watch::Sender::new(0),
            agents_epoch: AtomicU64::new(0),
            expiry_set: Notify::new(),
            task_ended: Notify::new(),
            approvals_moved: Notify::new(),
        }
    }
}

impl Shared {
    pub(crate) fn condition(&self) -> Condition {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_condition(&self, condition: Condition) {
        *self.condition.lock().unwrap_or_else(PoisonError::into_inner) = condition;
    }

    pub(crate) fn well(&self) {
        self.set_condition(Condition::Healthy);
    }

    pub(crate) fn failed(&self, error: &Error) {
        // What failed at the commit may have happened: what is remembered of agents is not relied on.
        self.agents_epoch.fetch_add(1, Ordering::Release);
        self.set_condition(Condition::from_failure(error));
    }

    /// Tells everybody what was committed. From here and not from the caller, who may have gone away since.
    pub(crate) fn committed(&self, operations: usize, took: Duration, told: Told) {
        self.figures.committed(operations, took);
        if told.signals.rights_shrank {
            self.rights.send_modify(|epoch| *epoch += 1);
        }
        if told.signals.agents_changed {
            self.agents_epoch.fetch_add(1, Ordering::Release);
        }
        if told.signals.expiry_set {
            self.expiry_set.notify_one();
        }
        if told.signals.task_ended {
            self.task_ended.notify_one();
        }
        if told.signals.approvals_moved {
            self.approvals_moved.notify_one();
        }
        let (changed, found_full) = (told.changed, told.found_full);
        self.fan_out.publish(told.events);
        if found_full {
            return self.failed(&Error::StorageFull);
        }
        if changed && self.condition() != Condition::Healthy {
            self.well();
        }
    }
}
