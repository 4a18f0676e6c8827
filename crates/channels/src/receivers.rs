//! The seam to whoever does something about a message.

use domain::channels::InboundMessage;
use futures_util::future::BoxFuture;

/// Whether a message will never be needed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is on disk, was there before, or was refused for good.
    Durably,
    /// Nobody can take it now. It is offered again, and nothing after it comes before it.
    NotNow,
}

/// Is told every message, in order, at least once: the same one again after a restart or a cut connection. It should take
/// a message and return, not answer it first.
pub trait Receiver: Send + Sync {
    fn receive(&self, message: InboundMessage) -> BoxFuture<'_, Taken>;
}
