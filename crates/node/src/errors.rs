//! What can go wrong, as words a caller acts on. Messages name paths as they were given, never what a file holds.

use serde::Serialize;
use std::io;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    InvalidPath(&'static str),
    #[error("the path leaves the root")]
    OutsideRoot,
    #[error("a link is in the way: it leads nowhere or in a circle, or is itself what should be changed")]
    LinkRefused,
    #[error(
        "the path leads through a link to what may hold secrets: name it by its own path, and your person is asked"
    )]
    HiddenSecret,
    #[error("there is nothing at that path")]
    NotFound,
    #[error("the path does not name a directory")]
    NotADirectory,
    #[error("the path names a directory; this works on files only")]
    IsADirectory,
    #[error("the path names neither a regular file nor a directory")]
    SpecialFile,
    #[error("{what} is larger than {limit_bytes} bytes")]
    TooLarge { what: &'static str, limit_bytes: u64 },
    #[error("the file is not what it was when the change was prepared")]
    StaleBase,
    #[error("the text to replace does not occur in the file")]
    NoMatch,
    #[error("the text to replace occurs more than once: give more of its surroundings")]
    ManyMatches,
    #[error("{0}")]
    InvalidArgument(&'static str),
    #[error("the kernel does not let this machine be used: {0}")]
    KernelTooOld(&'static str),
    #[error("another process already works with this state directory")]
    Busy,
    #[error("the journal is damaged at line {line}; it is not guessed at: move it away to begin anew")]
    JournalDamaged { line: usize },
    #[error("the journal cannot be written, and what cannot be put down is not done: {0}")]
    JournalStopped(String),
    #[error("{0}")]
    OutOfOrder(&'static str),
    #[error("nothing is kept for that call")]
    NothingKept,
    #[error("the file was changed since: what was kept is not put back over it")]
    ChangedSince,
    #[error("there is no such program in the system's directories")]
    ProgramNotFound,
    #[error("a program is taken from the system's directories only, never from the root")]
    ProgramRefused,
    #[error("{0}")]
    CommandDenied(String),
    #[error("commands are off on this machine: {0}")]
    CommandsOff(String),
    #[error("{doing}: {source}")]
    Io { doing: &'static str, source: io::Error },
}

impl Error {
    /// The code on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidPath(_) => "INVALID_PATH",
            Self::OutsideRoot => "OUTSIDE_ROOT",
            Self::LinkRefused => "LINK_REFUSED",
            Self::HiddenSecret => "HIDDEN_SECRET",
            Self::NotFound => "FILE_NOT_FOUND",
            Self::NotADirectory => "NOT_A_DIRECTORY",
            Self::IsADirectory => "IS_A_DIRECTORY",
            Self::SpecialFile => "SPECIAL_FILE",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::StaleBase => "STALE_BASE",
            Self::NoMatch => "NO_MATCH",
            Self::ManyMatches => "MANY_MATCHES",
            Self::InvalidArgument(_) => "INVALID_ARGUMENT",
            Self::KernelTooOld(_) => "KERNEL_TOO_OLD",
            Self::Busy => "BUSY",
            Self::JournalDamaged { .. } => "JOURNAL_DAMAGED",
            Self::JournalStopped(_) => "JOURNAL_STOPPED",
            Self::OutOfOrder(_) => "OUT_OF_ORDER",
            Self::NothingKept => "NOTHING_KEPT",
            Self::ChangedSince => "CHANGED_SINCE",
            Self::ProgramNotFound => "PROGRAM_NOT_FOUND",
            Self::ProgramRefused => "PROGRAM_REFUSED",
            Self::CommandDenied(_) => "COMMAND_DENIED",
            Self::CommandsOff(_) => "COMMANDS_OFF",
            Self::Io { .. } => "IO_ERROR",
        }
    }

    /// For `map_err`: what was being done when the system said no.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Io { doing, source: source.into() }
    }
}

/// An error inside a tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub code: &'static str,
    pub message: String,
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

/// The result of a tool that did nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub success: bool,
    pub error: Fault,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self { success: false, error: error.into() }
    }
}
