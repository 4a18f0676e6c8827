//! What can go wrong with a call.

use domain::Code;
use std::time::Duration;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Texts are the house's own or a bounded, cleaned excerpt of what the provider said; never a key or a prompt.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("the model provider cannot be reached: {0}")]
    Unreachable(String),
    /// It has the request, and hung up before it said anything.
    #[error("the model provider hung up without an answer")]
    Unanswered,
    #[error("the model provider took longer than {} s ({stage})", limit.as_secs())]
    Timeout { stage: &'static str, limit: Duration },
    /// 429.
    #[error("the model provider asks to slow down (status 429)")]
    RateLimited { retry_after: Option<Duration> },
    /// 5xx.
    #[error("the model provider failed with status {status}")]
    Failing { status: u16, retry_after: Option<Duration> },
    /// Any other status: asking again the same way helps nobody.
    #[error("the model provider refused the request with status {status}: {excerpt}")]
    Refused { status: u16, excerpt: String },
    #[error("the model provider's answer ended in the middle")]
    Cut,
    #[error("the model provider's answer cannot be understood: {0}")]
    Garbled(&'static str),
    #[error("the model provider's answer is too large")]
    TooLarge,
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::Timeout { .. } => Code::ProviderTimeout,
            Self::Refused { .. } => Code::ProviderRefused,
            _ => Code::ProviderFailed,
        }
    }

    /// Whether asking again may help.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::Unanswered
                | Self::Timeout { .. }
                | Self::RateLimited { .. }
                | Self::Failing { .. }
        )
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Failing { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the provider certainly did no work that it could charge for: it was not reached, or said no at once. What
    /// stands between may say 502 or 504 long after the provider began.
    pub fn cost_nothing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::RateLimited { .. } | Self::Refused { .. } => true,
            Self::Failing { status, .. } => !matches!(status, 502 | 504 | 520..=527),
            _ => false,
        }
    }
}
