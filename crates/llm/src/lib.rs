//! Chat models behind one small trait: providers that speak one of two protocols, and the demo model.
//!
//! A model is asked once for each call: nothing here tries again, remembers a conversation, knows a price or decides
//! whether it may be asked. What a provider sends is bounded and is never trusted to be whole.

mod error;
mod replies;
mod requests;

pub use error::{Error, Result};
pub use replies::{Reply, Stop};
pub use requests::{Message, Request, Tool, ToolCall};

use futures_util::future::BoxFuture;

/// Somebody who answers. Dropping the future ends the call.
pub trait ChatModel: Send + Sync {
    /// Asks once. `heard` is given the text of the answer piece by piece, as it arrives.
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Reply>>;
}
