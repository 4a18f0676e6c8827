//! What can go wrong with rows, sorted by what a caller can do about it.

use std::io::ErrorKind;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk has no room. Reads go on; writes do once there is room again.
    #[error("the disk is full")]
    StorageFull,
    /// Too many writes are waiting already.
    #[error("too many writes are waiting")]
    QueueFull,
    /// Nothing is acknowledged now: the last write to disk failed, or the store is closing.
    #[error("the store is not taking writes: {0}")]
    Unavailable(String),
    #[error(
        "{place} was written by a newer Longhouse (schema {found}, this one knows {known}): use that version or a backup"
    )]
    NewerSchema { place: String, found: i64, known: i64 },
    #[error("{place} is not a Longhouse database, or its history of migrations is not ours: {reason}")]
    Foreign { place: String, reason: String },
    #[error(
        "the upgrade of {place} from schema {from} failed: {source}. Nothing was lost (a copy is {copy}). To go back: {way_back}"
    )]
    Migration { place: String, from: i64, copy: PathBuf, way_back: &'static str, source: Box<Error> },
    #[error(
        "the data directory {0} is in use by another process: a server, or a `longhouse mcp` that found none when it began"
    )]
    InUse(PathBuf),
    #[error("there is a house in the PostgreSQL database already: restore into an empty one")]
    Occupied,
    #[error("the PostgreSQL database is in use by another Longhouse")]
    DatabaseInUse,
    #[error("{0} is not a storage address: give `sqlite`, or postgres://user:password@host/database")]
    BadStorageUrl(&'static str),
    #[error("LONGHOUSE_STORAGE_URL has a parameter that is not known: `{0}`")]
    UnknownParameter(String),
    /// Others got in between; nothing happened.
    #[error("others wrote the same rows at the same time")]
    Conflict,
    /// The database cannot be reached.
    #[error("the database cannot be reached: {0}")]
    Lost(String),
    #[error("{0}")]
    File(#[from] std::io::Error),
    #[error("the database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database failed: {}", said(.0))]
    Postgres(#[from] sqlx::Error),
    /// A row is not what was written: the disk, or something between it and us, changed it.
    #[error("{0} was damaged after it was written: restore a backup")]
    Damaged(String),
    #[error(
        "the log {0} was damaged after it was written, and commits that were acknowledged stand behind the damage: \
         restore a backup"
    )]
    DamagedLog(PathBuf),
    /// A row does not have the shape that was written: corruption, or a defect.
    #[error("a stored row is not as it was written: {0}")]
    BadRow(String),
    /// A defect: an operation waited for something that is not the database, or panicked.
    #[error("an operation broke the rules of the writer: {0}")]
    BadOperation(&'static str),
}

impl Error {
    /// Whether this error says that the disk is full, however the engine wrapped it.
    pub fn is_full(&self) -> bool {
        match self {
            Self::StorageFull => true,
            Self::Sqlite(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Postgres(_) => self.is_state("53100"),
            Self::File(error) => matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded),
            _ => false,
        }
    }

    /// Whether PostgreSQL gave this code, or one of this class.
    fn is_state(&self, start: &str) -> bool {
        let Self::Postgres(sqlx::Error::Database(error)) = self else { return false };
        error.code().is_some_and(|code| code.starts_with(start))
    }

    /// Whether the transaction was given up because others got in between: it may be run again. Two who insert the
    /// same row at once are told of a broken constraint, not of each other; no operation of ours relies on one.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict) || ["40001", "40P01", "23505"].iter().any(|state| self.is_state(state))
    }

    /// Whether the database cannot be reached, or is going away or coming up.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Lost(_) => true,
            Self::Postgres(sqlx::Error::Database(_)) => {
                ["08", "57P", "53300", "25006"].iter().any(|state| self.is_state(state))
            }
            Self::Postgres(error) => {
                matches!(error, sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_))
            }
            _ => false,
        }
    }

    /// Whether the engine failed, as against a statement that was refused.
    pub(crate) fn is_fault(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_sqlite_fault(error),
            Self::Postgres(sqlx::Error::Database(_)) if !self.is_conflict() => {
                // Bad data, broken constraints, bad statements and what is too large are the statement's own.
                !["22", "23", "42", "54"].iter().any(|class| self.is_state(class))
            }
            Self::Postgres(_) => true,
            _ => self.is_full(),
        }
    }

    /// What everybody whose work went down with a failed transaction is told.
    pub(crate) fn shared(&self) -> Self {
        if self.is_full() {
            Self::StorageFull
        } else if self.is_conflict() {
            Self::Conflict
        } else if self.is_lost() {
            Self::Lost(self.to_string())
        } else {
            Self::Unavailable(self.to_string())
        }
    }
}

/// What PostgreSQL said, without the place in its own source that the library adds.
fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}

fn is_sqlite_fault(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    matches!(
        error.sqlite_error_code(),
        Some(
            Code::DiskFull
                | Code::SystemIoFailure
                | Code::DatabaseCorrupt
                | Code::NotADatabase
                | Code::OutOfMemory
                | Code::ReadOnly
        )
    )
}
