//! What can go wrong between the house and a provider.

use std::time::Duration;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Texts are the house's own or a bounded, cleaned excerpt of what the provider said; never an address or a token.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Not sent: no provider would take it, or it is for another channel.
    #[error("the message cannot be sent: {0}")]
    Unsendable(String),
    #[error("the provider cannot be reached: {0}")]
    Unreachable(&'static str),
    /// It may have done what it was asked.
    #[error("the provider did not answer: {0}")]
    Unanswered(&'static str),
    #[error("the provider asks to wait for {} s", retry_after.as_secs())]
    RateLimited { retry_after: Duration },
    /// 5xx.
    #[error("the provider failed with status {status}")]
    Failing { status: u16 },
    #[error("the provider does not accept the bot's token, or the address of its API is wrong (status {status})")]
    Unauthorized { status: u16 },
    /// Another program uses the same token.
    #[error("the provider says that somebody else listens with this bot's token: {excerpt}")]
    Conflict { excerpt: String },
    /// Any other status: asking again the same way helps nobody.
    #[error("the provider refused with status {status}: {excerpt}")]
    Refused { status: u16, excerpt: String },
    #[error("the provider's answer cannot be understood: {0}")]
    Garbled(&'static str),
}

impl Error {
    /// Whether asking again may help.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::Unanswered(_)
                | Self::RateLimited { .. }
                | Self::Failing { .. }
                | Self::Garbled(_)
        )
    }

    /// Whether the provider may have done what it was asked: asking again may do it twice.
    pub fn is_unsure(&self) -> bool {
        matches!(self, Self::Unanswered(_) | Self::Garbled(_))
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => Some(*retry_after),
            _ => None,
        }
    }
}

/// Settings with which a channel cannot be started, in a sentence without their values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidOptions(pub(crate) String);

impl InvalidOptions {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}
