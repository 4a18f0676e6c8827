//! Between a plugin and the SDK: only what the house has a use for passes, and a plugin that floods is cut off.
//!
//! The SDK starts a task for every message that it gets, and keeps its answers until the plugin takes them. So what nobody
//! asked for is counted, and mostly dropped, before the SDK sees it.

use crate::closings::Closing;
use rmcp::RoleClient;
use rmcp::model::{ServerJsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// Said where nothing more is known.
pub(crate) const GONE: &str = "it closed the connection";
pub(crate) const UNREAD: &str = "it does not take what is sent to it";
pub(crate) const TOO_LARGE: &str = "it sent a message that is too large";
const FLOODED: &str = "it sent more messages than anybody asked for";

/// Messages that nobody asked for, over time: a bucket that empties by a tenth every second.
#[derive(Debug, Clone)]
pub(crate) struct Unasked(Arc<Mutex<Bucket>>);

#[derive(Debug)]
struct Bucket {
    most: f64,
    filled: f64,
    at: Instant,
}

impl Unasked {
    pub(crate) fn new(most: u32) -> Self {
        Self(Arc::new(Mutex::new(Bucket { most: f64::from(most), filled: 0.0, at: Instant::now() })))
    }

    /// Whether one more is still bearable.
    pub(crate) fn bears_one_more(&self) -> bool {
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let drained = bucket.most * now.duration_since(bucket.at).as_secs_f64() / 10.0;
        bucket.filled = (bucket.filled - drained).max(0.0) + 1.0;
        bucket.at = now;
        bucket.filled <= bucket.most
    }
}

pub(crate) struct Watched<T> {
    inner: T,
    /// Requests of the house that have no answer yet.
    open: u64,
    unasked: Unasked,
    closing: Closing,
}

impl<T> Watched<T> {
    pub(crate) fn new(inner: T, unasked: Unasked, closing: Closing) -> Self {
        Self { inner, open: 0, unasked, closing }
    }

    /// Whether a message goes on to the SDK, or `Err` where there were too many.
    fn passes(&mut self, message: &ServerJsonRpcMessage) -> Result<bool, ()> {
        let (is_asked, passes) = match message {
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => (self.open > 0, true),
            // The SDK's handler refuses what they ask for.
            ServerJsonRpcMessage::Request(_) => (false, true),
            ServerJsonRpcMessage::Notification(notice) => (false, is_of_use(&notice.notification)),
        };
        if is_asked {
            self.open -= 1;
            return Ok(true);
        }
        if self.unasked.bears_one_more() { Ok(passes) } else { Err(()) }
    }
}

fn is_of_use(notification: &ServerNotification) -> bool {
    matches!(
        notification,
        ServerNotification::ToolListChangedNotification(_)
            | ServerNotification::SubscriptionsAcknowledgedNotification(_)
            | ServerNotification::CancelledNotification(_)
    )
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if matches!(message, TxJsonRpcMessage::<RoleClient>::Request(_)) {
            self.open += 1;
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = tokio::select! {
                biased;
                message = self.inner.receive() => message,
                _ = self.closing.closed() => None,
            };
            let Some(message) = message else {
                self.closing.close(GONE);
                return None;
            };
            match self.passes(&message) {
                Ok(true) => return Some(message),
                Ok(false) => {}
                Err(()) => {
                    self.closing.close(FLOODED);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_borne_and_so_is_a_trickle_but_not_a_flood() {
        let unasked = Unasked::new(100);
        assert!((0..100).all(|_| unasked.bears_one_more()));
        assert!(!unasked.bears_one_more());
        let unasked = Unasked::new(100);
        for _ in 0..1_000 {
            tokio::time::advance(Duration::from_millis(110)).await;
            assert!(unasked.bears_one_more(), "nine in a second");
        }
        tokio::time::advance(Duration::from_secs(11)).await;
        assert!((0..100).all(|_| unasked.bears_one_more()), "after a rest it is empty again");
    }
}
