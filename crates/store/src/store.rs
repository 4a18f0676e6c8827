//! The store: one handle, cheap to clone, to everything that is kept.

use crate::fan_out::{Bell, Watch};
use crate::jobs::{Job, PendingOperation};
use crate::migrations::MIGRATIONS;
use crate::postgres::{self, Postgres};
use crate::queue::Refused;
use crate::shared::{Condition, Shared, WriterFigures};
use crate::sqlite::{self, Sqlite};
use crate::{Error, Operation, Result};
use domain::events::{Earshot, StreamId, Whisper};
use domain::ids::{ProjectId, WorkspaceId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{Notify, oneshot, watch};

/// Where the rows are.
#[derive(Clone, PartialEq)]
pub enum Storage {
    /// A database file.
    Sqlite(PathBuf),
    /// A PostgreSQL database by its address; copies of an older one are put into the folder.
    Postgres { url: String, copies: PathBuf },
}

#[derive(Clone)]
pub struct Options {
    pub storage: Storage,
    /// How many writes may wait.
    pub queue_capacity: usize,
}

impl Options {
    pub fn new(storage: Storage) -> Self {
        Self { storage, queue_capacity: 10_000 }
    }
}

#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    shared: Arc<Shared>,
}

enum Engine {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

impl Store {
    /// Opens the database and brings its schema up to date.
    pub async fn open(options: Options) -> Result<Self> {
        let (shared, capacity) = (Arc::<Shared>::default(), options.queue_capacity);
        let engine = match &options.storage {
            Storage::Sqlite(path) => Engine::Sqlite(Arc::new(Sqlite::open(path, capacity, shared.clone())?)),
            Storage::Postgres { url, copies } => {
                Engine::Postgres(Postgres::open(url, copies, capacity, shared.clone()).await?)
            }
        };
        Ok(Self { inner: Arc::new(Inner { engine, shared }) })
    }

    /// Runs an operation in the order its workspace's turn comes. When this returns `Ok`, it is on disk.
    pub async fn write<O: Operation>(&self, turn: &WorkspaceId, operation: O) -> Result<O::Output, O::Error> {
        let (reply, answer) = oneshot::channel();
        let job: Box<dyn Job> = Box::new(PendingOperation::new(operation, reply));
        let pushed = match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.push(turn, job),
            Engine::Postgres(postgres) => postgres.push(turn, job),
        };
        match pushed {
            Ok(()) => {}
            Err(Refused::Full(_)) => return Err(Error::QueueFull.into()),
            Err(Refused::Closed(_)) => return Err(Error::Unavailable("the house is closing".into()).into()),
        }
        answer.await.unwrap_or_else(|_| Err(Error::Unavailable("the writer has stopped".into()).into()))
    }

    /// Runs a short read on one consistent state.
    pub async fn read<O: Operation>(&self, operation: O) -> Result<O::Output, O::Error> {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.read(&operation),
            Engine::Postgres(postgres) => Box::pin(postgres.read(&operation)).await,
        }
    }

    /// The same for what may read much: nobody who writes waits for it.
    pub async fn read_beside<O: Operation>(&self, operation: O) -> Result<O::Output, O::Error> {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.read_beside(&operation),
            Engine::Postgres(postgres) => Box::pin(postgres.read(&operation)).await,
        }
    }

    /// Runs a read that may take long, away from the threads that serve requests.
    pub async fn scan<O: Operation>(&self, operation: O) -> Result<O::Output, O::Error> {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => {
                let sqlite = sqlite.clone();
                let done = tokio::task::spawn_blocking(move || sqlite.read_beside(&operation)).await;
                done.unwrap_or_else(|_| Err(Error::BadOperation("a read panicked").into()))
            }
            Engine::Postgres(postgres) => Box::pin(postgres.read(&operation)).await,
        }
    }

    pub fn watch(&self, workspace: &WorkspaceId, stream: &StreamId) -> Watch {
        self.inner.shared.fan_out.watch(workspace, stream)
    }

    /// Rings for every event of these workspaces, and hears what is whispered there: with a project, only in that one.
    pub fn bell(&self, workspaces: &[WorkspaceId], project: Option<ProjectId>) -> Bell {
        self.inner.shared.fan_out.bell(workspaces, project)
    }

    /// News of every alert, whatever the workspace: for what the house does about them.
    pub fn watch_alerts(&self) -> Watch {
        self.inner.shared.fan_out.watch_alerts()
    }

    /// Shows something to whoever watches the session, its project or its workspace at this moment, and keeps it nowhere.
    /// `make` is called only if somebody does.
    pub fn whisper(&self, earshot: &Earshot, make: impl FnOnce() -> Whisper) {
        self.inner.shared.fan_out.whisper(earshot, make);
    }

    /// A watcher has read the log up to this number of the house.
    pub fn read_up_to(&self, seq: u64) {
        self.inner.shared.fan_out.read(seq);
    }

    /// Makes a consistent copy of the database in a new file, while others write.
    pub async fn copy_to(&self, target: PathBuf) -> Result<()> {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => {
                let sqlite = sqlite.clone();
                let done = tokio::task::spawn_blocking(move || sqlite.copy_to(&target)).await;
                done.unwrap_or(Err(Error::BadOperation("a backup panicked")))
            }
            Engine::Postgres(postgres) => postgres.copy_to(&target).await,
        }
    }

    /// Whether what is kept is whole, and whether it is kept at all; a sentence about it if so.
    pub async fn check(&self) -> Result<String> {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => {
                let sqlite = sqlite.clone();
                let done = tokio::task::spawn_blocking(move || sqlite.check()).await;
                done.unwrap_or(Err(Error::BadOperation("a check panicked")))
            }
            Engine::Postgres(postgres) => postgres.check().await,
        }
    }

    /// Checks a copy before it is trusted.
    pub fn check_copy(path: &Path) -> Result<()> {
        sqlite::backups::check(path)
    }

    /// Brings a copy, which may be of an older schema, to the newest one.
    pub fn upgrade_copy(path: &Path) -> Result<()> {
        let mut connection = sqlite::open_writer(path)?;
        sqlite::migrations::migrate(&mut connection, path, MIGRATIONS)?;
        connection.close().map_err(|(_, error)| error.into())
    }

    /// Fills an empty PostgreSQL database from a copy of the newest schema.
    pub async fn fill_postgres(url: &str, copy: &Path) -> Result<()> {
        postgres::copies::from_file(url, copy, MIGRATIONS).await
    }

    /// Moves with every commit after which somebody may do less.
    pub fn rights(&self) -> &watch::Sender<u64> {
        &self.inner.shared.rights
    }

    /// Moves with every commit that changed or removed an agent, before that is acknowledged.
    pub fn agents_epoch(&self) -> u64 {
        self.inner.shared.agents_epoch.load(Ordering::Acquire)
    }

    /// Rung when a key was given a time to live.
    pub fn expiry_set(&self) -> &Notify {
        &self.inner.shared.expiry_set
    }

    /// Rung when a task has ended.
    pub fn task_ended(&self) -> &Notify {
        &self.inner.shared.task_ended
    }

    /// Rung when an approval was asked for, is over or is gone.
    pub fn approvals_moved(&self) -> &Notify {
        &self.inner.shared.approvals_moved
    }

    pub fn condition(&self) -> Condition {
        self.inner.shared.condition()
    }

    pub fn figures(&self) -> &WriterFigures {
        &self.inner.shared.figures
    }

    pub fn waiting_writes(&self) -> usize {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.waiting(),
            Engine::Postgres(postgres) => postgres.waiting(),
        }
    }

    /// Takes no more writes, finishes those that wait, closes the database.
    pub async fn close(&self) {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            Engine::Postgres(postgres) => postgres.close().await,
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.stop_taking(),
            Engine::Postgres(postgres) => postgres.stop_taking(),
        }
    }
}
