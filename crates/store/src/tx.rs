//! A transaction: statements in, rows out, and what is told to others only if it commits.

use crate::audit::PendingAudit;
use crate::connection::{Connection, Insert};
use crate::events::PendingEvent;
use crate::rows::{Param, Row};
use crate::{Error, Operation, Result, Scope};
use domain::events::RecordedEvent;
use domain::ids::WorkspaceId;
use std::sync::Arc;

pub struct Tx {
    pub(crate) connection: Connection,
    /// Audit rows of this transaction, sealed and written just before it commits.
    pub(crate) audit: Vec<PendingAudit>,
    /// Events of this transaction, numbered and written just before it commits.
    pub(crate) events: Vec<PendingEvent>,
    /// How many of them are written already.
    pub(crate) events_written: usize,
    /// How many rows were changed.
    changes: u64,
    /// Whether an operation found the disk full and was refused for it.
    found_full: bool,
    /// The first failure of the engine, as against a refused statement.
    fault: Option<Error>,
    /// What others have to be told once this has committed.
    signals: Signals,
    /// The session that the operation under way is about.
    about: Option<String>,
    /// Whether it is lent to a read, on a connection that could write.
    is_lent: bool,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals {
    pub(crate) rights_shrank: bool,
    pub(crate) agents_changed: bool,
    pub(crate) expiry_set: bool,
    pub(crate) task_ended: bool,
    pub(crate) approvals_moved: bool,
}

/// What others hear about a transaction that has committed.
pub(crate) struct Told {
    /// Whether anything was written: only that shows that the disk takes it.
    pub(crate) changed: bool,
    /// Whether somebody was refused because the disk is full.
    pub(crate) found_full: bool,
    pub(crate) signals: Signals,
    pub(crate) events: Vec<Arc<RecordedEvent>>,
}

/// How far a transaction had got, to return to after a refusal.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    audit: usize,
    events: usize,
    events_written: usize,
    changes: u64,
}

impl Tx {
    pub(crate) fn on(connection: Connection) -> Self {
        Self {
            connection,
            audit: Vec::new(),
            events: Vec::new(),
            events_written: 0,
            changes: 0,
            found_full: false,
            fault: None,
            signals: Signals::default(),
            about: None,
            is_lent: false,
        }
    }

    /// From now on it only reads.
    pub(crate) fn lend(&mut self) {
        self.is_lent = true;
    }

    /// Nothing that a read pretended to record may ever be.
    pub(crate) fn take_back(&mut self) {
        self.is_lent = false;
        self.forget_all();
    }

    fn require_own(&self) -> Result<()> {
        if self.is_lent { Err(Error::BadOperation("a read tried to write")) } else { Ok(()) }
    }

    /// The rows of one workspace.
    pub fn scope<'t>(&'t mut self, workspace: &'t WorkspaceId) -> Scope<'t> {
        Scope::new(self, workspace)
    }

    pub(crate) fn mark(&self) -> Mark {
        let (audit, events) = (self.audit.len(), self.events.len());
        Mark { audit, events, events_written: self.events_written, changes: self.changes }
    }

    pub(crate) fn forget_since(&mut self, mark: Mark) {
        self.audit.truncate(mark.audit);
        self.events.truncate(mark.events);
        self.events_written = mark.events_written;
        self.changes = mark.changes;
    }

    pub(crate) fn forget_all(&mut self) {
        self.audit.clear();
        self.events.clear();
        self.events_written = 0;
        self.changes = 0;
        self.found_full = false;
        self.fault = None;
        self.signals = Signals::default();
        self.about = None;
    }

    /// Somebody may do less once this has committed: whoever relies on rights looks at them again.
    pub fn rights_shrank(&mut self) {
        self.signals.rights_shrank = true;
    }

    /// An agent is another or gone once this has committed: whoever remembers agents reads them again.
    pub fn agents_changed(&mut self) {
        self.signals.agents_changed = true;
    }

    /// A key was given a time to live: whoever sleeps until the next expiry may have to wake earlier.
    pub fn expiry_set(&mut self) {
        self.signals.expiry_set = true;
    }

    /// A task is over: an answer may be owed to somebody.
    pub(crate) fn task_ended(&mut self) {
        self.signals.task_ended = true;
    }

    /// Somebody is asked something, or is not any more: people in channels may have to be told.
    pub(crate) fn approvals_moved(&mut self) {
        self.signals.approvals_moved = true;
    }

    /// Notes which session, agent or project this is about, so that what is kept of the answer goes when that goes.
    pub fn about(&mut self, uid: &str) {
        self.about = Some(uid.to_owned());
    }

    pub(crate) fn is_about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// Runs an operation inside this transaction; if it fails, nothing of it stays and the rest goes on.
    pub async fn attempt<O: Operation>(&mut self, operation: &O) -> Result<O::Output, O::Error> {
        let mark = self.mark();
        self.about = None;
        self.control("SAVEPOINT attempt").await?;
        let outcome = operation.run(self).await;
        if outcome.is_err() && !self.is_over() {
            self.forget_since(mark);
            self.control("ROLLBACK TO attempt").await?;
        }
        if !self.is_over() {
            self.control("RELEASE attempt").await?;
        }
        outcome
    }

    /// Whether rows were changed since then.
    pub(crate) fn has_changed_since(&self, mark: Mark) -> bool {
        self.changes > mark.changes
    }

    /// Runs a statement and gives its rows. One that only reads says so by its first word.
    pub(crate) async fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        let only_reads = sql.starts_with("SELECT");
        if !only_reads {
            self.require_own()?;
        }
        let outcome = self.connection.query(sql, params).await;
        if let Ok(rows) = &outcome
            && !only_reads
        {
            self.changes += rows.len() as u64;
        }
        self.noting_faults(outcome)
    }

    /// Runs a statement that gives at most one row.
    pub(crate) async fn query_one(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Option<Row>> {
        Ok(self.query(sql, params).await?.pop())
    }

    /// Runs a statement and tells how many rows it changed.
    pub(crate) async fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
        self.require_own()?;
        let outcome = self.connection.execute(sql, params).await;
        self.changes += outcome.as_ref().map_or(0, |rows| *rows);
        self.noting_faults(outcome)
    }

    /// Inserts rows in their order and gives the numbers that they got, where the engine numbers them.
    pub(crate) async fn insert<const N: usize>(
        &mut self,
        insert: &Insert,
        rows: &[[Param<'_>; N]],
    ) -> Result<Vec<u64>> {
        self.require_own()?;
        // Counted before: one of them may fail after others are in.
        self.changes += rows.len() as u64;
        let outcome = self.connection.insert(insert, rows).await;
        self.noting_faults(outcome)
    }

    pub(crate) async fn reserve_event_numbers(&mut self) -> Result<()> {
        let outcome = self.connection.reserve_event_numbers().await;
        self.noting_faults(outcome)
    }

    fn noting_faults<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome
            && error.is_fault()
            && self.fault.is_none()
        {
            self.fault = Some(error.shared());
        }
        outcome
    }

    /// After a failure of the engine the whole transaction is lost. A full disk takes only the operation that found
    /// it, unless SQLite has rolled everything back by itself.
    pub(crate) fn check_faults(&mut self) -> Result<()> {
        match self.fault.take() {
            Some(fault) if self.is_over() || !fault.is_full() => Err(fault),
            Some(_) => {
                self.found_full = true;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Runs `BEGIN`, `COMMIT`, `SAVEPOINT` and the like.
    pub(crate) async fn control(&mut self, sql: &'static str) -> Result<()> {
        self.require_own()?;
        let outcome = self.connection.control(sql).await;
        self.noting_faults(outcome)
    }

    /// Whether the engine has given up the transaction by itself.
    pub(crate) fn is_over(&self) -> bool {
        self.connection.is_over()
    }

    /// Writes what was gathered. The numbers of events come last: on PostgreSQL they are given one transaction at a
    /// time until it has committed.
    pub(crate) async fn seal(&mut self) -> Result<()> {
        self.seal_audit().await?;
        self.write_events().await
    }

    /// What others are told, now that this has committed; the transaction starts anew.
    pub(crate) fn told(&mut self) -> Told {
        let events = std::mem::take(&mut self.events).into_iter().map(PendingEvent::recorded).collect();
        let told = Told { changed: self.changes > 0, found_full: self.found_full, signals: self.signals, events };
        self.forget_all();
        told
    }
}
