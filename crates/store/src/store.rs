//! The store: one handle, cheap to clone, to everything that is kept.

use crate::fan_out::{Bell, Watch};
use crate::queue::{FairQueue, Refused};
use crate::sqlite::readers::Readers;
use crate::sqlite::writer::{Job, PendingOperation, Writer, WriterShared};
use crate::sync::Mutex;
use crate::sync::thread::{self, JoinHandle};
use crate::{Error, Operation, Result, Tx, backups, migrations, sqlite};
use domain::ids::{SessionId, WorkspaceId};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};

#[derive(Debug, Clone)]
pub struct Options {
    /// The database file.
    pub path: PathBuf,
    /// How many writes may wait.
    pub queue_capacity: usize,
}

impl Options {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), queue_capacity: 10_000 }
    }
}

/// Whether writes are being taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    Healthy,
    /// The last write found the disk full; the next one tries again.
    Full,
    /// The last write to disk failed; nothing is acknowledged until the database has been opened again and checked.
    Failed(String),
}

impl Condition {
    pub(crate) fn from_failure(error: &Error) -> Self {
        if error.is_full() { Self::Full } else { Self::Failed(error.to_string()) }
    }

    pub(crate) fn refusal(&self) -> Error {
        match self {
            Self::Full => Error::StorageFull,
            _ => Error::Unavailable("the last write to disk failed; the database is being checked".into()),
        }
    }
}

/// What the writer has done, for the metrics page.
#[derive(Debug, Default)]
pub struct WriterFigures {
    pub commits: AtomicU64,
    pub operations: AtomicU64,
    pub commit_micros: AtomicU64,
}

impl WriterFigures {
    pub(crate) fn committed(&self, operations: usize, took: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.operations.fetch_add(operations as u64, Ordering::Relaxed);
        self.commit_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    writer: Arc<WriterShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the database, brings its schema up to date and starts the writer.
    pub fn open(options: Options) -> Result<Self> {
        let mut connection = sqlite::open_writer(&options.path)?;
        migrations::migrate(&mut connection, &options.path, migrations::MIGRATIONS)?;
        let shared = Arc::new(WriterShared {
            queue: FairQueue::new(options.queue_capacity),
            readers: Readers::new(options.path.clone()),
            fan_out: crate::fan_out::FanOut::default(),
            condition: Mutex::new(Condition::Healthy),
            figures: WriterFigures::default(),
            rights: watch::Sender::new(0),
            expiry_set: Notify::new(),
        });
        let writer = Writer::new(options.path.clone(), Tx::sqlite(connection), shared.clone());
        let thread = thread::Builder::new().name("writer".into()).spawn(move || writer.run())?;
        let inner = Inner { path: options.path, writer: shared, thread: Mutex::new(Some(thread)) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Runs an operation in the order its workspace's turn comes. When this returns `Ok`, it is on disk.
    pub async fn write<O: Operation>(&self, turn: &WorkspaceId, operation: O) -> Result<O::Output, O::Error> {
        let (reply, answer) = oneshot::channel();
        let job: Box<dyn Job> = Box::new(PendingOperation { operation, outcome: None, reply });
        match self.inner.writer.queue.push(turn, job) {
            Ok(()) => {}
            Err(Refused::Full(_)) => return Err(Error::QueueFull.into()),
            Err(Refused::Closed(_)) => return Err(Error::Unavailable("the house is closing".into()).into()),
        }
        answer.await.unwrap_or_else(|_| Err(Error::Unavailable("the writer has stopped".into()).into()))
    }

    /// Runs a short read on one consistent state.
    pub async fn read<O: Operation>(&self, operation: O) -> Result<O::Output, O::Error> {
        self.inner.writer.readers.run(&operation)
    }

    /// Runs a read that may take long, away from the threads that serve requests.
    pub async fn scan<O: Operation>(&self, operation: O) -> Result<O::Output, O::Error> {
        let inner = self.inner.clone();
        let done = tokio::task::spawn_blocking(move || inner.writer.readers.run(&operation)).await;
        done.unwrap_or_else(|_| Err(Error::BadOperation("a read panicked").into()))
    }

    pub fn watch_session(&self, workspace: &WorkspaceId, session: &SessionId) -> Watch {
        self.inner.writer.fan_out.watch_session(workspace, session)
    }

    pub fn bell(&self, workspaces: &[WorkspaceId]) -> Bell {
        self.inner.writer.fan_out.bell(workspaces)
    }

    /// Makes a consistent copy of the database in a new file, while others write.
    pub async fn copy_to(&self, target: PathBuf) -> Result<()> {
        let inner = self.inner.clone();
        let done = tokio::task::spawn_blocking(move || backups::copy(&inner.writer.readers.open()?, &target)).await;
        done.unwrap_or(Err(Error::BadOperation("a backup panicked")))
    }

    /// Whether every page of the database is whole.
    pub async fn check_pages(&self) -> Result<()> {
        let inner = self.inner.clone();
        let check = move || sqlite::integrity_check(&inner.writer.readers.open()?, &inner.path);
        tokio::task::spawn_blocking(check).await.unwrap_or(Err(Error::BadOperation("a check panicked")))
    }

    /// Checks a copy before it is trusted.
    pub fn check_copy(path: &Path) -> Result<()> {
        backups::check(path)
    }

    /// Moves with every commit after which somebody may do less.
    pub fn rights(&self) -> &watch::Sender<u64> {
        &self.inner.writer.rights
    }

    /// Rung when a key was given a time to live.
    pub fn expiry_set(&self) -> &Notify {
        &self.inner.writer.expiry_set
    }

    pub fn condition(&self) -> Condition {
        self.inner.writer.condition()
    }

    pub fn figures(&self) -> &WriterFigures {
        &self.inner.writer.figures
    }

    pub fn waiting_writes(&self) -> usize {
        self.inner.writer.queue.len()
    }

    /// Takes no more writes, finishes those that wait, closes the database.
    pub async fn close(&self) {
        self.inner.writer.queue.close();
        let thread = self.inner.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A writer that panicked has nothing left to finish.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.writer.queue.close();
    }
}
