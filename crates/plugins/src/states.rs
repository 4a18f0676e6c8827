//! How a plugin stands.

use tokio::time::Instant;

/// Reasons are in the house's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Starting,
    Ready,
    /// It is away, and tried again.
    Restarting {
        attempt: u32,
        since: Instant,
        why: String,
    },
    /// It was tried in vain so often that somebody should look. It is still tried, seldom.
    Failed {
        attempts: u32,
        since: Instant,
        why: String,
    },
    Stopped,
}

impl State {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Restarting { .. } => "restarting",
            Self::Failed { .. } => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// Why it cannot be called.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Starting => "it is starting".to_owned(),
            Self::Ready => "it is just going away".to_owned(),
            Self::Restarting { why, .. } | Self::Failed { why, .. } => why.clone(),
            Self::Stopped => "it is stopped".to_owned(),
        }
    }
}
