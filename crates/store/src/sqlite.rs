//! SQLite: how its connections are opened, checked and closed.

pub(crate) mod backups;
mod company;
pub(crate) mod desk;
mod log_check;
pub(crate) mod migrations;
pub(crate) mod readers;
pub(crate) mod statements;
pub(crate) mod writer;

use crate::jobs::Job;
use crate::queue::{FairQueue, Refused};
use crate::shared::Shared;
use crate::sync::Mutex;
use crate::sync::thread::{self, JoinHandle};
use crate::{Error, Operation, Result};
use desk::Desk;
use domain::ids::WorkspaceId;
use readers::Readers;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use writer::{Rooms, Writer};

/// Pages in the log before a commit also moves them into the database: larger means fewer pauses.
const CHECKPOINT_PAGES: i64 = 6_000;
/// A commit writes every page that it touched, and sessions share few: small pages mean less to write.
const PAGE_BYTES: i64 = 2_048;
/// Negative = KiB. Pages that the writer has to read again cost it more than anything else.
const WRITER_CACHE_KIB: i64 = -32_000;
const STATEMENTS_CACHED: usize = 128;

/// A database in a file, with its one writer.
pub(crate) struct Sqlite {
    path: PathBuf,
    rooms: Arc<Rooms>,
    desk: Arc<Desk>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Sqlite {
    /// Opens the database, brings its schema up to date and starts the writer.
    pub(crate) fn open(path: &Path, queue_capacity: usize, shared: Arc<Shared>) -> Result<Self> {
        let has_log = log_check::check(path)?;
        let mut connection = open_writer(path)?;
        if has_log {
            empty_log(&connection);
        }
        migrations::migrate(&mut connection, path, crate::migrations::MIGRATIONS)?;
        let readers = Readers::new(path.to_owned());
        let rooms = Arc::new(Rooms { queue: FairQueue::new(queue_capacity), readers, shared });
        let writer = Writer::new(path.to_owned(), connection, rooms.clone());
        let desk = Arc::new(Desk::new(writer, rooms.clone()));
        let of_thread = desk.clone();
        let thread = thread::Builder::new().name("writer".into()).spawn(move || of_thread.run())?;
        Ok(Self { path: path.to_owned(), rooms, desk, thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn push(&self, turn: &WorkspaceId, job: Box<dyn Job>) -> Result<(), Refused<Box<dyn Job>>> {
        self.desk.hand_in(turn, job)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.rooms.queue.len()
    }

    pub(crate) fn read<O: Operation>(&self, operation: &O) -> Result<O::Output, O::Error> {
        self.desk.read(operation)
    }

    /// The same, however much it reads: nobody who writes waits for it.
    pub(crate) fn read_beside<O: Operation>(&self, operation: &O) -> Result<O::Output, O::Error> {
        self.rooms.readers.run(operation)
    }

    pub(crate) fn copy_to(&self, target: &Path) -> Result<()> {
        backups::copy(&open_reader(&self.path)?, target)
    }

    pub(crate) fn check(&self) -> Result<String> {
        check_everything(&open_reader(&self.path)?, &self.path)?;
        Ok("every page and every index of the database is whole".into())
    }

    pub(crate) fn stop_taking(&self) {
        self.rooms.queue.close();
    }

    pub(crate) async fn close(&self) {
        self.stop_taking();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A writer that panicked has nothing left to finish.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

/// What a torn commit left in a log would stand behind later ones and look like damage after the next power cut. On a
/// full disk this fails, and may.
fn empty_log(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::warn!(%error, "the log could not be moved into the database yet");
    }
}

// The one place that opens a database for writing.
#[allow(clippy::disallowed_methods)]
pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
    migrations::check_owner(&connection, path)?;
    set_owner_only(path)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: a commit returns when its log frames are on disk.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "cache_size", WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

// The one place that opens a database for reading.
#[allow(clippy::disallowed_methods)]
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> Result<()> {
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.pragma_update(None, "trusted_schema", false)?;
    // Plans must not depend on bound values, or statements are prepared again whenever one is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Only the account that runs Longhouse may read the file.
pub(crate) fn set_owner_only(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(())
}

/// Whether every page is whole: quick enough to be done before writes are taken again.
pub(crate) fn integrity_check(connection: &Connection, path: &Path) -> Result<()> {
    check(connection, path, "PRAGMA quick_check(1)")
}

/// The same, and whether every index tells what its table has.
fn check_everything(connection: &Connection, path: &Path) -> Result<()> {
    check(connection, path, "PRAGMA integrity_check(1)")
}

fn check(connection: &Connection, path: &Path, pragma: &str) -> Result<()> {
    let verdict: String = connection.query_row(pragma, [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(Error::Foreign { place: path.display().to_string(), reason: format!("its pages are damaged: {verdict}") })
}

/// Opens the database again after a failed write to disk. What the log holds is written afresh into the database
/// and synced, because pages whose sync failed may be in memory only, though they read back well.
pub(crate) fn reopen_after_failure(path: &Path) -> Result<Connection> {
    let connection = open_writer(path)?;
    integrity_check(&connection, path)?;
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy != 0 {
        return Err(Error::Unavailable("the log could not be moved into the database yet".into()));
    }
    // There may have been nothing to move: the disk has to take something before anybody is told that it does.
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    connection.pragma_update(None, "user_version", version)?;
    Ok(connection)
}
