//! What the house says in a channel.

use crate::Result;
use domain::channels::{CallbackId, OutboundMessage};
use domain::workspaces::ChannelPlace;
use futures_util::future::BoxFuture;

/// The provider's ids of the messages that a text became, in order; buttons are under the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    pub message_ids: Vec<String>,
}

/// Says something in a channel. Every call is tried again a few times where that may help, and waits as long as the
/// provider asks for, within limits; what is said in one place is said in the order of the calls.
pub trait Outlet: Send + Sync {
    /// How much fits into one message, in UTF-16 code units. Longer texts are sent in parts; who wants to know which
    /// parts were sent splits them before.
    fn longest(&self) -> usize;

    /// A message whose parts were sent only in part is an error: trying it again repeats the beginning.
    fn send<'a>(&'a self, message: &'a OutboundMessage) -> BoxFuture<'a, Result<Sent>>;

    /// Shows for some seconds that something is being written. Tried once.
    fn typing<'a>(&'a self, place: &'a ChannelPlace, thread_id: Option<&'a str>) -> BoxFuture<'a, Result<()>>;

    /// Tells who pressed a button what came of it, for their eyes. Providers wait for it for some seconds only.
    fn answer_press<'a>(&'a self, callback: &'a CallbackId, text: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Replaces the words of a message, which must fit into one, and takes its buttons away.
    fn conclude<'a>(&'a self, place: &'a ChannelPlace, message_id: &'a str, text: &'a str)
    -> BoxFuture<'a, Result<()>>;

    /// The place where one person alone is spoken to.
    fn direct<'a>(&'a self, user_id: &'a str) -> BoxFuture<'a, Result<ChannelPlace>>;
}
