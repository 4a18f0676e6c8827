//! SQLite: how its connections are opened, checked and closed.

pub(crate) mod readers;
pub(crate) mod writer;

use crate::{Error, Result, migrations};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Pages in the log before a commit also moves them into the database: larger means fewer pauses.
const CHECKPOINT_PAGES: i64 = 6_000;
/// A commit writes every page that it touched, and sessions share few: small pages mean less to write.
const PAGE_BYTES: i64 = 2_048;
/// Negative = KiB. Pages that the writer has to read again cost it more than anything else.
const WRITER_CACHE_KIB: i64 = -32_000;
const STATEMENTS_CACHED: usize = 128;

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

pub(crate) fn integrity_check(connection: &Connection, path: &Path) -> Result<()> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(Error::ForeignFile { path: path.to_owned(), reason: format!("its pages are damaged: {verdict}") })
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
    Ok(connection)
}
