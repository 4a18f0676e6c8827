//! A database for one schedule, the parts that the store is made of, and the smallest operations on them.

use crate::connection::Connection;
use crate::jobs::{Job, PendingOperation};
use crate::migrations::MIGRATIONS;
use crate::operation::ready;
use crate::queue::{FairQueue, Refused};
use crate::shared::Shared;
use crate::sqlite::desk::Desk;
use crate::sqlite::readers::Readers;
use crate::sqlite::writer::{Rooms, Writer};
use crate::sync::thread;
use crate::{Error, Operation, Result, Tx, sqlite};
use domain::events::{Event, EventKind, RecordedEvent, StreamId};
use domain::ids::{SessionId, WorkspaceId};
use domain::sessions::ContextCounters;
use domain::times::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;
use tokio::sync::oneshot;

pub(super) type Answer = oneshot::Receiver<Result<u64>>;

pub(super) struct Scene {
    _folder: TempDir,
    pub(super) path: PathBuf,
    pub(super) rooms: Arc<Rooms>,
    desk: Arc<Desk>,
    /// Whether the real writer writes, so that reads may ask it.
    is_started: AtomicBool,
}

/// The schema is made once and copied for each schedule.
fn blank() -> &'static [u8] {
    static BLANK: OnceLock<Vec<u8>> = OnceLock::new();
    BLANK.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.db");
        let mut connection = sqlite::open_writer(&path).unwrap();
        sqlite::migrations::migrate(&mut connection, &path, MIGRATIONS).unwrap();
        connection.close().unwrap();
        std::fs::read(path).unwrap()
    })
}

impl Scene {
    pub(super) fn new(within: &Path) -> Self {
        let folder = tempfile::tempdir_in(within).unwrap();
        let path = folder.path().join("rows.db");
        std::fs::write(&path, blank()).unwrap();
        let readers = Readers::new(path.clone());
        let rooms = Rooms { queue: FairQueue::new(64), readers, shared: Arc::<Shared>::default() };
        let rooms = Arc::new(rooms);
        let writer = Writer::new(path.clone(), sqlite::open_writer(&path).unwrap(), rooms.clone());
        let desk = Arc::new(Desk::new(writer, rooms.clone()));
        Self { _folder: folder, path, rooms, desk, is_started: AtomicBool::new(false) }
    }

    pub(super) fn connection(&self) -> Tx {
        Tx::on(Connection::Sqlite(sqlite::open_writer(&self.path).unwrap()))
    }

    /// Starts the real writer.
    pub(super) fn start(&self) -> thread::JoinHandle<()> {
        self.is_started.store(true, Ordering::Relaxed);
        let desk = self.desk.clone();
        thread::spawn(move || desk.run())
    }

    /// The events after a number, as whoever begins to read now finds them.
    pub(super) fn log(&self, after: u64) -> Vec<RecordedEvent> {
        let log = Log { after };
        let is_started = self.is_started.load(Ordering::Relaxed);
        if is_started { self.desk.read(&log) } else { self.rooms.readers.run(&log) }.unwrap()
    }

    /// Hands an operation in, as `Store::write` does; `None` when it is closed.
    pub(super) fn submit(&self, append: Append) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        let job: Box<dyn Job> = Box::new(PendingOperation::new(append, reply));
        match self.desk.hand_in(&topic().0, job) {
            Ok(()) => Some(answer),
            Err(Refused::Closed(_)) => None,
            Err(Refused::Full(_)) => panic!("there is room for all"),
        }
    }
}

pub(super) fn topic() -> (WorkspaceId, SessionId) {
    (WorkspaceId::parse("w").unwrap(), SessionId::parse("s").unwrap())
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ending {
    Well,
    Refused,
    Panic,
}

/// Appends the session's next event and gives its number.
pub(super) struct Append {
    pub(super) key: String,
    pub(super) ending: Ending,
}

impl Append {
    pub(super) fn new(key: &str) -> Self {
        Self { key: key.to_owned(), ending: Ending::Well }
    }
}

impl Operation for Append {
    type Output = u64;
    type Error = Error;

    fn is_small(&self) -> bool {
        true
    }

    async fn run(&self, tx: &mut Tx) -> Result<u64> {
        let (workspace, session) = topic();
        let before = tx.scope(&workspace).events().after(&StreamId::of_session(&session), 0, 1_000).await?;
        // Those of the same batch are written just before its commit.
        let numbers = before.len() + tx.events.len() - tx.events_written;
        let mut counters = ContextCounters { event_seq: numbers as u64, ..ContextCounters::default() };
        let event = Event {
            kind: EventKind::ContextWritten,
            at: Timestamp::from_ms(1_000),
            project: None,
            session: Some(session.clone()),
            key: Some(self.key.clone()),
            readable_by: None,
            fields: serde_json::Map::new(),
        };
        tx.scope(&workspace).events().append(&session, &mut counters, &event);
        match self.ending {
            Ending::Well => Ok(counters.event_seq),
            Ending::Refused => Err(Error::BadRow("refused".into())),
            Ending::Panic => panic!("a job that panics, and is caught"),
        }
    }
}

struct Log {
    after: u64,
}

impl Operation for Log {
    type Output = Vec<RecordedEvent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RecordedEvent>> {
        let (workspace, session) = topic();
        tx.scope(&workspace).events().after(&StreamId::of_session(&session), self.after, 1_000).await
    }
}

/// What the writer does for one commit, in an order that a twin may get wrong.
#[derive(Clone, Copy)]
pub(super) enum Step {
    WarnReaders,
    Commit,
    ReleaseReaders,
    Publish,
    Acknowledge,
}

pub(super) type Steps = [Step; 5];

pub(super) const RIGHT: Steps =
    [Step::WarnReaders, Step::Commit, Step::ReleaseReaders, Step::Publish, Step::Acknowledge];

/// A writer that takes the given steps for each event; `acknowledge` is told its number.
pub(super) fn write_in_steps(scene: &Scene, tx: &mut Tx, steps: Steps, acknowledge: impl Fn(u64)) {
    ready(tx.control("BEGIN IMMEDIATE")).unwrap().unwrap();
    let number = ready(Append::new("k").run(tx)).unwrap().unwrap();
    ready(tx.seal()).unwrap().unwrap();
    let mut events = tx.told().events;
    for step in steps {
        match step {
            Step::WarnReaders => scene.rooms.readers.committing(),
            Step::Commit => {
                ready(tx.control("COMMIT")).unwrap().unwrap();
                // Others see it now, but it may take its time to return: SQLite empties the log in between.
                thread::yield_now();
            }
            Step::ReleaseReaders => scene.rooms.readers.committed(),
            Step::Publish => scene.rooms.shared.fan_out.publish(std::mem::take(&mut events)),
            Step::Acknowledge => acknowledge(number),
        }
    }
}
