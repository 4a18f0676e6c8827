//! The one writer: `desk` says on whose thread.
//!
//! Jobs that wait while a commit is on its way to disk share the next one; a refused one leaves nothing behind. A job is
//! acknowledged after its commit returned. After a failed commit nothing is acknowledged until the database has been
//! opened again and checked.

use super::company::Company;
use super::log_check::log_of;
use super::readers::Readers;
use super::reopen_after_failure;
use crate::connection::Connection;
use crate::jobs::{Job, run_in_savepoint, run_plainly};
use crate::operation::{read_now, ready};
use crate::queue::FairQueue;
use crate::shared::{Condition, Shared};
use crate::sync::{Instant, thread};
use crate::{Error, Operation, Result, Tx};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Bounds of one commit: more jobs than this, or longer, and those at the front would wait too long.
const JOBS_PER_COMMIT: usize = 512;
const COMMIT_AFTER: Duration = Duration::from_millis(8);
/// Where a commit takes longer than this, no caller's thread is kept for one.
const QUICK: Duration = Duration::from_millis(2);
const REOPEN_FIRST: Duration = Duration::from_millis(200);
const REOPEN_SLOWEST: Duration = Duration::from_secs(10);
const REFUSE_EVERY: Duration = Duration::from_millis(5);
/// Ten times what a log has when it is moved into the database.
const LOG_WORRYING_BYTES: u64 = 128 * 1024 * 1024;
const LOG_LOOKED_AT_EVERY: u64 = 256;

/// What the writer and the rest of the engine both hold.
pub(crate) struct Rooms {
    pub(crate) queue: FairQueue<Box<dyn Job>>,
    pub(crate) readers: Readers,
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Writer {
    path: PathBuf,
    /// `None` while the database has to be opened again.
    tx: Option<Tx>,
    rooms: Arc<Rooms>,
    commits: Cell<u64>,
    /// How long the last commit took.
    took: Cell<Duration>,
    company: Company,
}

impl Writer {
    pub(crate) fn new(path: PathBuf, connection: rusqlite::Connection, rooms: Arc<Rooms>) -> Self {
        Self {
            path,
            tx: Some(Tx::on(Connection::Sqlite(connection))),
            rooms,
            commits: Cell::new(1),
            took: Cell::new(Duration::ZERO),
            company: Company::default(),
        }
    }

    /// Writes a job and all that wait.
    pub(crate) fn write(&mut self, first: Box<dyn Job>) {
        match self.tx.take() {
            Some(tx) => {
                let (tx, jobs) = self.commit_batch(tx, first, JOBS_PER_COMMIT);
                self.tx = tx;
                self.company.thread_wrote(jobs > 1 || self.rooms.queue.len() > 0 || !self.is_well());
            }
            None => first.fail(Error::Unavailable("the database is being opened again".into())),
        }
        if self.tx.is_none() {
            self.recover();
        }
    }

    /// Writes one job. If that breaks the writer, it waits for `write` to mend it.
    pub(crate) fn write_alone(&mut self, job: Box<dyn Job>) {
        match self.tx.take() {
            Some(tx) => {
                self.tx = self.commit_batch(tx, job, 1).0;
                self.company.caller_wrote(self.rooms.queue.len() > 0 || !self.is_well());
            }
            None => job.fail(self.rooms.shared.condition().refusal()),
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.tx.is_none()
    }

    /// Whether nobody else seems to write, and a commit is quick here and has not failed lately.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.tx.is_some() && self.is_well() && self.took.get() < QUICK && self.company.is_absent()
    }

    fn is_well(&self) -> bool {
        matches!(self.rooms.shared.condition(), Condition::Healthy)
    }

    /// Reads what is committed, from the pages that the writer has in memory. None while it cannot write either.
    pub(crate) fn read<O: Operation>(&mut self, operation: &O) -> Option<Result<O::Output, O::Error>> {
        let mut tx = self.tx.take()?;
        // One lock for all statements of the read.
        let began = ready(tx.control("BEGIN")).and_then(|began| began);
        tx.lend();
        let outcome = match began {
            Ok(()) => read_now(operation, &mut tx),
            Err(error) => Err(error.into()),
        };
        tx.take_back();
        // A connection that cannot even end a read is not written with. One that met an error may have ended it already.
        self.tx = roll_back(&mut tx).then_some(tx);
        Some(outcome)
    }

    pub(crate) fn close(&mut self) {
        // The last connection to close moves the log into the database.
        self.rooms.readers.close();
        if let Some(Tx { connection: Connection::Sqlite(connection), .. }) = self.tx.take()
            && let Err((_, error)) = connection.close()
        {
            tracing::warn!(%error, "the database did not close cleanly; the next start repairs it");
        }
    }

    /// Runs the first job and all that wait, commits, tells everybody. Gives the transaction back if it can go on, and how
    /// many jobs there were.
    fn commit_batch(&self, mut tx: Tx, first: Box<dyn Job>, jobs_most: usize) -> (Option<Tx>, usize) {
        let started = Instant::now();
        let mut done = vec![first];
        let outcome = self.fill_batch(&mut tx, &mut done, jobs_most, started).and_then(|()| self.commit(&mut tx));
        let jobs = done.len();
        self.took.set(started.elapsed());
        let tx = match outcome {
            Ok(()) => {
                self.rooms.shared.committed(jobs, started.elapsed(), tx.told());
                done.into_iter().for_each(|job| job.acknowledge());
                let look = self.commits.replace(self.commits.get() + 1).is_multiple_of(LOG_LOOKED_AT_EVERY);
                (!look || self.check_log(&mut tx)).then_some(tx)
            }
            Err(error) => {
                tracing::error!(%error, jobs, "a commit failed; nothing of it is acknowledged");
                self.rooms.shared.failed(&error);
                let full = error.is_full();
                done.into_iter().for_each(|job| job.fail(error.shared()));
                // A full disk fails before anything is promised: rolling back is enough. Anything else is not trusted.
                (full && roll_back(&mut tx)).then_some(tx)
            }
        };
        (tx, jobs)
    }

    /// Savepoints cost copies of pages, so a batch goes without them until a job is refused after it had changed
    /// something.
    fn fill_batch(&self, tx: &mut Tx, done: &mut Vec<Box<dyn Job>>, jobs_most: usize, started: Instant) -> Result<()> {
        ready(tx.control("BEGIN IMMEDIATE"))??;
        let (mut at, mut guarded) = (0, false);
        while at < done.len() {
            if guarded {
                ready(run_in_savepoint(tx, done[at].as_mut()))??;
            } else if !ready(run_plainly(tx, done[at].as_mut()))?? {
                // From the start, and each where it can be taken back by itself.
                ready(tx.control("ROLLBACK"))??;
                tx.forget_all();
                ready(tx.control("BEGIN IMMEDIATE"))??;
                (at, guarded) = (0, true);
                continue;
            }
            at += 1;
            if at == done.len()
                && at < jobs_most
                && started.elapsed() < COMMIT_AFTER
                && let Some(next) = self.rooms.queue.try_next()
            {
                done.push(next);
            }
        }
        Ok(())
    }

    fn commit(&self, tx: &mut Tx) -> Result<()> {
        ready(tx.seal())??;
        self.rooms.readers.committing();
        let outcome = ready(tx.control("COMMIT"));
        self.rooms.readers.committed();
        outcome?
    }

    /// Opens the database again, refusing what arrives meanwhile.
    fn recover(&mut self) {
        let mut pause = REOPEN_FIRST;
        self.rooms.readers.release_views();
        loop {
            self.refuse_for(Duration::ZERO);
            match reopen_after_failure(&self.path) {
                Ok(connection) => {
                    tracing::info!("the database was opened again and is whole");
                    self.tx = Some(Tx::on(Connection::Sqlite(connection)));
                    self.rooms.readers.keep_views();
                    return self.rooms.shared.well();
                }
                Err(error) => tracing::error!(%error, "the database cannot be opened again yet"),
            }
            if self.rooms.queue.is_closed() {
                return;
            }
            self.refuse_for(pause);
            pause = (pause * 2).min(REOPEN_SLOWEST);
        }
    }

    /// Refuses what arrives, without letting it wait, until the time is over.
    fn refuse_for(&self, time: Duration) {
        let started = Instant::now();
        loop {
            while let Some(job) = self.rooms.queue.try_next() {
                job.fail(self.rooms.shared.condition().refusal());
            }
            if started.elapsed() >= time || self.rooms.queue.is_closed() {
                return;
            }
            thread::sleep(REFUSE_EVERY);
        }
    }

    /// SQLite says nothing when it cannot move its log into the database; the log would grow without end. Answers
    /// whether all is well.
    fn check_log(&self, tx: &mut Tx) -> bool {
        let length = std::fs::metadata(log_of(&self.path)).map_or(0, |log| log.len());
        if length < LOG_WORRYING_BYTES {
            return true;
        }
        match ready(tx.connection.query("PRAGMA wal_checkpoint(PASSIVE)", &[])) {
            Ok(Ok(_)) => true,
            Ok(Err(error)) | Err(error) => {
                tracing::error!(%error, "the log cannot be moved into the database");
                self.rooms.shared.failed(&error);
                false
            }
        }
    }
}

fn roll_back(tx: &mut Tx) -> bool {
    tx.forget_all();
    tx.is_over() || matches!(ready(tx.control("ROLLBACK")), Ok(Ok(())))
}
