//! How a channel is doing, for health and figures.

use tokio::sync::watch;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing was heard from the provider yet.
    Starting,
    Connected,
    /// Tried again by itself, with growing pauses.
    Failing {
        why: String,
    },
    Stopped,
}

/// Where a channel's tasks say how they are doing.
#[derive(Debug, Clone)]
pub(crate) struct Health {
    channel: &'static str,
    state: watch::Sender<State>,
}

impl Health {
    pub(crate) fn new(channel: &'static str) -> Self {
        Self { channel, state: watch::Sender::new(State::Starting) }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(crate) fn well(&self) {
        if self.becomes(State::Connected) {
            tracing::info!(channel = self.channel, "the channel is connected");
        }
    }

    pub(crate) fn failing(&self, why: impl Into<String>) {
        let why = why.into();
        if self.becomes(State::Failing { why: why.clone() }) {
            tracing::warn!(channel = self.channel, why, "the channel is failing");
        }
    }

    pub(crate) fn stopped(&self) {
        self.becomes(State::Stopped);
    }

    fn becomes(&self, state: State) -> bool {
        self.state.send_if_modified(|before| {
            // A task that is being ended may have something to say still.
            let is_other = *before != state && *before != State::Stopped;
            if is_other {
                *before = state;
            }
            is_other
        })
    }
}
