//! What can go wrong with an operation: it was refused, or the house could not do it now.

use domain::{Code, Refusal};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The session counts exact tokens: the value has to be measured first, away from the writer.
    #[error("the value's exact tokens are not counted yet")]
    NeedsTokenCount,
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Store(error) if error.is_full() => Code::StorageFull,
            Self::Store(store::Error::QueueFull) => Code::QueueFull,
            Self::Store(store::Error::Unavailable(_) | store::Error::Lost(_) | store::Error::Conflict) => {
                Code::Unavailable
            }
            Self::Store(_) | Self::NeedsTokenCount => Code::Internal,
        }
    }

    /// Whether another process has the data directory or its database open.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Store(store::Error::InUse(_) | store::Error::DatabaseInUse))
    }

    /// What the caller is told. Faults of the house are named, their inner texts stay in the log.
    pub fn into_refusal(self) -> Refusal {
        let code = self.code();
        match self {
            Self::Refused(refusal) => refusal,
            _ => Refusal::new(
                code,
                match code {
                    Code::StorageFull => "the disk is full: nothing was changed; free some space and try again",
                    Code::QueueFull => "too many writes are waiting: try again in a moment",
                    Code::Unavailable => {
                        "the house cannot reach its database or disk now: nothing was acknowledged; try again later"
                    }
                    _ => "something went wrong in the house; the log says what",
                },
            ),
        }
    }
}
