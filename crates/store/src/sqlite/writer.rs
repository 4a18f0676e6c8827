//! The one thread that writes.
//!
//! Jobs that wait while a commit is on its way to disk share the next one, each in a savepoint of its own. A job is
//! acknowledged after its commit returned. After a failed commit nothing is acknowledged until the database has been
//! opened again and checked.

use super::readers::{Readers, poll_once, ready};
use super::reopen_after_failure;
use crate::fan_out::FanOut;
use crate::queue::FairQueue;
use crate::store::{Condition, WriterFigures};
use crate::sync::{Instant, Mutex, thread};
use crate::tx::Signals;
use crate::{Error, Operation, Result, Tx};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};

/// Bounds of one commit: more jobs than this, or longer, and those at the front would wait too long.
const JOBS_PER_COMMIT: usize = 512;
const COMMIT_AFTER: Duration = Duration::from_millis(8);
const REOPEN_FIRST: Duration = Duration::from_millis(200);
const REOPEN_SLOWEST: Duration = Duration::from_secs(10);

/// One caller's work, whatever its types.
pub(crate) trait Job: Send {
    /// Runs inside a savepoint; answers whether the work is to be kept.
    fn run(&mut self, tx: &mut Tx) -> bool;
    /// Tells the caller what `run` gave. Called after the commit.
    fn acknowledge(self: Box<Self>);
    /// Tells the caller that nothing happened.
    fn fail(self: Box<Self>, error: Error);
}

pub(crate) struct PendingOperation<O: Operation> {
    pub(crate) operation: O,
    pub(crate) outcome: Option<Result<O::Output, O::Error>>,
    pub(crate) reply: oneshot::Sender<Result<O::Output, O::Error>>,
}

impl<O: Operation> Job for PendingOperation<O> {
    fn run(&mut self, tx: &mut Tx) -> bool {
        // Nobody waits any more: the request was dropped before its turn came.
        if self.reply.is_closed() {
            return false;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| poll_once(&self.operation, tx)))
            .unwrap_or_else(|_| Err(Error::BadOperation("it panicked").into()));
        self.outcome.insert(outcome).is_ok()
    }

    fn acknowledge(mut self: Box<Self>) {
        if let Some(outcome) = self.outcome.take() {
            // The caller may have gone; its work stays done.
            let _ = self.reply.send(outcome);
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        let _ = self.reply.send(Err(error.into()));
    }
}

/// What the writer shares with the rest of the house.
pub(crate) struct WriterShared {
    pub(crate) queue: FairQueue<Box<dyn Job>>,
    pub(crate) readers: Readers,
    pub(crate) fan_out: FanOut,
    pub(crate) condition: Mutex<Condition>,
    pub(crate) figures: WriterFigures,
    /// Moves with every commit after which somebody may do less.
    pub(crate) rights: watch::Sender<u64>,
    pub(crate) expiry_set: Notify,
}

impl WriterShared {
    pub(crate) fn condition(&self) -> Condition {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From here and not from the caller, who may have gone away since the commit.
    fn signal(&self, signals: Signals) {
        if signals.rights_shrank {
            self.rights.send_modify(|epoch| *epoch += 1);
        }
        if signals.expiry_set {
            self.expiry_set.notify_one();
        }
    }

    fn set_condition(&self, condition: Condition) {
        *self.condition.lock().unwrap_or_else(PoisonError::into_inner) = condition;
    }
}

pub(crate) struct Writer {
    path: PathBuf,
    /// `None` while the database has to be opened again.
    tx: Option<Tx>,
    shared: Arc<WriterShared>,
}

impl Writer {
    pub(crate) fn new(path: PathBuf, tx: Tx, shared: Arc<WriterShared>) -> Self {
        Self { path, tx: Some(tx), shared }
    }

    /// Works until the queue is closed and empty, then closes the database.
    pub(crate) fn run(mut self) {
        while let Some(first) = self.shared.queue.next() {
            match self.tx.take() {
                Some(tx) => self.tx = self.commit_batch(tx, first),
                None => first.fail(Error::Unavailable("the database is being opened again".into())),
            }
            if self.tx.is_none() {
                self.recover();
            }
        }
        // The last connection to close moves the log into the database.
        self.shared.readers.close();
        if let Some(tx) = self.tx
            && let Err((_, error)) = tx.into_sqlite().close()
        {
            tracing::warn!(%error, "the database did not close cleanly; the next start repairs it");
        }
    }

    /// Runs the first job and all that wait, commits, tells everybody. Gives the transaction back if it can go on.
    fn commit_batch(&self, mut tx: Tx, first: Box<dyn Job>) -> Option<Tx> {
        let started = Instant::now();
        let mut done = Vec::new();
        let outcome = self.fill_batch(&mut tx, first, &mut done, started).and_then(|()| self.commit(&mut tx));
        match outcome {
            Ok(()) => {
                self.shared.figures.committed(done.len(), started.elapsed());
                self.shared.signal(std::mem::take(&mut tx.signals));
                self.shared.fan_out.publish(std::mem::take(&mut tx.events));
                done.into_iter().for_each(|job| job.acknowledge());
                if self.shared.condition() != Condition::Healthy {
                    self.shared.set_condition(Condition::Healthy);
                }
                Some(tx)
            }
            Err(error) => {
                tracing::error!(%error, jobs = done.len(), "a commit failed; nothing of it is acknowledged");
                self.shared.set_condition(Condition::from_failure(&error));
                let full = error.is_full();
                done.into_iter().for_each(|job| job.fail(error.shared()));
                // A full disk fails before anything is promised: rolling back is enough. Anything else is not trusted.
                (full && roll_back(&mut tx)).then_some(tx)
            }
        }
    }

    fn fill_batch(
        &self,
        tx: &mut Tx,
        first: Box<dyn Job>,
        done: &mut Vec<Box<dyn Job>>,
        started: Instant,
    ) -> Result<()> {
        done.push(first);
        tx.control("BEGIN IMMEDIATE")?;
        let mut at = 0;
        while at < done.len() {
            run_in_savepoint(tx, done[at].as_mut())?;
            at += 1;
            if at < JOBS_PER_COMMIT
                && started.elapsed() < COMMIT_AFTER
                && let Some(next) = self.shared.queue.try_next()
            {
                done.push(next);
            }
        }
        Ok(())
    }

    fn commit(&self, tx: &mut Tx) -> Result<()> {
        ready(tx.seal_audit())??;
        self.shared.readers.committing();
        let outcome = tx.control("COMMIT");
        self.shared.readers.committed();
        outcome
    }

    /// Opens the database again, refusing what arrives meanwhile.
    fn recover(&mut self) {
        let mut pause = REOPEN_FIRST;
        self.shared.readers.release_views();
        loop {
            while let Some(job) = self.shared.queue.try_next() {
                job.fail(self.shared.condition().refusal());
            }
            match reopen_after_failure(&self.path) {
                Ok(connection) => {
                    tracing::info!("the database was opened again and is whole");
                    self.tx = Some(Tx::sqlite(connection));
                    self.shared.readers.keep_views();
                    return self.shared.set_condition(Condition::Healthy);
                }
                Err(error) => tracing::error!(%error, "the database cannot be opened again yet"),
            }
            if self.shared.queue.is_closed() {
                return;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(REOPEN_SLOWEST);
        }
    }
}

fn run_in_savepoint(tx: &mut Tx, job: &mut dyn Job) -> Result<()> {
    let mark = tx.mark();
    tx.control("SAVEPOINT job")?;
    let keep = job.run(tx);
    // After an I/O error SQLite may have rolled everything back by itself; then the whole batch is gone.
    match tx.take_fault() {
        Some(fault) if tx.is_over() || !fault.is_full() => return Err(fault),
        _ => {}
    }
    if !keep {
        tx.forget_since(mark);
        tx.control("ROLLBACK TO job")?;
    }
    tx.control("RELEASE job")
}

fn roll_back(tx: &mut Tx) -> bool {
    tx.forget_all();
    tx.is_over() || tx.control("ROLLBACK").is_ok()
}
