//! Read-only connections. A read runs where its caller runs, without changing threads: SQLite answers from memory
//! in microseconds, and a future over it never waits.
//!
//! An idle connection keeps its view of the database open, and the next read uses it if nothing was committed
//! since: beginning and ending a view costs locks, more than a small read itself. The writer ends the views of idle
//! connections before each commit, so that none holds the log back, and while it commits none is kept: a commit can
//! be seen before it has returned, and what one read has found, no later one may miss.

use super::open_reader;
use crate::connection::Connection;
use crate::operation::{read_now, ready};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::{Operation, Result, Tx};
use std::path::PathBuf;
use std::sync::PoisonError;

const IDLE_MOST: usize = 8;

pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Reader>>,
    /// Moves before and after each commit: odd while one is under way.
    commits: AtomicU64,
    /// Whether an idle connection has its view open.
    views: AtomicBool,
    /// Whether idle connections may not keep one: set while the log has to be emptied.
    released: AtomicBool,
}

struct Reader {
    tx: Tx,
    /// What `commits` was before the open view began; `None` when no view is open.
    view: Option<u64>,
}

impl Reader {
    fn end_view(&mut self) -> Result<()> {
        match self.view.take() {
            Some(_) => ready(self.tx.control("COMMIT"))?,
            None => Ok(()),
        }
    }

    /// A view of everything that was committed when `commits` was looked at.
    fn begin_view(&mut self, commits: u64) -> Result<()> {
        if self.view == Some(commits) {
            return Ok(());
        }
        self.end_view()?;
        ready(self.tx.control("BEGIN"))??;
        self.view = Some(commits);
        Ok(())
    }
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            idle: Mutex::default(),
            commits: AtomicU64::new(0),
            views: AtomicBool::new(false),
            released: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a connection waits here that knows everything: it has its view open, and its pages in memory.
    pub(crate) fn is_up_to_date(&self) -> bool {
        let commits = self.commits.load(Ordering::Acquire);
        self.lock().last().is_some_and(|reader| reader.view == Some(commits))
    }

    fn take(&self) -> Result<Reader> {
        let idle = self.lock().pop();
        idle.map_or_else(|| Ok(Reader { tx: Tx::on(Connection::Sqlite(open_reader(&self.path)?)), view: None }), Ok)
    }

    fn give_back(&self, mut reader: Reader) {
        // Nothing that a read pretended to record may ever be.
        reader.tx.forget_all();
        let mut idle = self.lock();
        // Said before the count is looked at, and by an exchange: a commit that begins meanwhile either is seen here,
        // or sees this and waits for the lock to end the view.
        if reader.view.is_some() {
            self.views.swap(true, Ordering::AcqRel);
        }
        let commits = self.commits.load(Ordering::Acquire);
        let under_way = commits % 2 == 1;
        let stale = under_way || reader.view != Some(commits) || self.released.load(Ordering::Acquire);
        if stale && reader.end_view().is_err() {
            return;
        }
        if idle.len() < IDLE_MOST {
            idle.push(reader);
        }
    }

    /// To be called before every commit: from now on no read uses a view from before it.
    pub(crate) fn committing(&self) {
        self.commits.fetch_add(1, Ordering::AcqRel);
        if self.views.swap(false, Ordering::AcqRel) {
            // One that cannot end its view is not used again.
            self.lock().retain_mut(|reader| reader.end_view().is_ok());
        }
    }

    /// To be called after every commit, whatever came of it.
    pub(crate) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::AcqRel);
    }

    /// Lets no idle connection hold the log until `keep_views`: it cannot be emptied while one does.
    pub(crate) fn release_views(&self) {
        self.released.store(true, Ordering::Release);
        self.lock().retain_mut(|reader| reader.end_view().is_ok());
    }

    pub(crate) fn keep_views(&self) {
        self.released.store(false, Ordering::Release);
    }

    /// Runs a read on one consistent state of the database that holds every commit there was when it began.
    pub(crate) fn run<O: Operation>(&self, operation: &O) -> Result<O::Output, O::Error> {
        let commits = self.commits.load(Ordering::Acquire);
        let mut reader = self.take()?;
        reader.begin_view(commits)?;
        let outcome = read_now(operation, &mut reader.tx);
        self.give_back(reader);
        outcome
    }

    pub(crate) fn close(&self) {
        self.lock().clear();
    }
}
