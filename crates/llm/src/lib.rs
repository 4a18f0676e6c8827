//! Chat models behind one small trait: providers that speak one of two protocols, and the demo model.
//!
//! A model is asked once for each call: nothing here tries again, remembers a conversation, knows a price or decides
//! whether it may be asked. What a provider sends is bounded and is never trusted to be whole.

mod answers;
mod anthropic;
mod calls;
mod connections;
mod demo;
mod drafts;
mod error;
mod names;
mod openai;
mod providers;
mod replies;
mod requests;
pub mod routing;
mod sse;
mod statuses;
pub mod tokens;
pub mod windows;

pub use demo::Demo;
pub use error::{Error, Result};
pub use providers::{InvalidProvider, ProviderOptions, Providers, Timeouts, from_environment};
pub use replies::{Reply, Stop};
pub use requests::{Message, Request, Tool, ToolCall};
pub use routing::{Choice, NoProvider};

use futures_util::future::BoxFuture;

/// Somebody who answers. Dropping the future ends the call.
pub trait ChatModel: Send + Sync {
    /// Asks once. `heard` is given the text of the answer piece by piece, as it arrives.
    fn ask<'a>(&'a self, request: &'a Request, heard: &'a mut (dyn FnMut(&str) + Send))
    -> BoxFuture<'a, Result<Reply>>;
}
