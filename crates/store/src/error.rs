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
        "{path} was written by a newer Longhouse (schema {found}, this one knows {known}): use that version or a backup"
    )]
    NewerSchema { path: PathBuf, found: i64, known: i64 },
    #[error("{path} is not a Longhouse database, or its history of migrations is not ours: {reason}")]
    ForeignFile { path: PathBuf, reason: String },
    #[error(
        "the upgrade of {path} from schema {from} failed: {source}. Nothing was lost: to go back, stop, put {copy} in its place and start the version you had"
    )]
    Migration { path: PathBuf, from: i64, copy: PathBuf, source: rusqlite::Error },
    #[error("the data directory {0} is in use by another process")]
    InUse(PathBuf),
    #[error("{0}")]
    File(#[from] std::io::Error),
    #[error("the database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A row does not have the shape that was written: corruption, or a defect.
    #[error("a stored row is not as it was written: {0}")]
    BadRow(String),
    /// A defect: an operation waited for something that is not the database, or panicked.
    #[error("an operation broke the rules of the writer: {0}")]
    BadOperation(&'static str),
}

impl Error {
    /// Whether this error says that the disk is full, however SQLite wrapped it.
    pub fn is_full(&self) -> bool {
        match self {
            Self::StorageFull => true,
            Self::Sqlite(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::File(error) => matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded),
            _ => false,
        }
    }

    /// Whether the disk or the file failed, as against a statement that was refused.
    pub(crate) fn is_fault(&self) -> bool {
        use rusqlite::ErrorCode as Code;
        let Self::Sqlite(error) = self else { return self.is_full() };
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

    /// What everybody whose work went down with a failed transaction is told.
    pub(crate) fn shared(&self) -> Self {
        if self.is_full() { Self::StorageFull } else { Self::Unavailable(self.to_string()) }
    }
}
