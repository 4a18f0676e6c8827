//! MCP servers as tools: starts, watches and calls them.
//!
//! Nothing here knows an agent, a person or a row, and nothing here decides whether a call may be made: whoever calls has
//! decided. What a plugin sends is taken for hostile: it is bounded before it is parsed, and no plugin can make the house wait,
//! grow or do anything.

mod backoff;
mod boards;
mod calls;
mod closings;
mod connections;
mod error;
mod http;
mod lines;
mod listings;
mod options;
pub mod outbound;
mod outcomes;
mod plugins;
mod processes;
mod requests;
mod slots;
mod states;
mod stderr;
mod supervisors;
mod watched;
mod weights;

pub use boards::{ListedPlugin, Listing};
pub use calls::Call;
pub use error::{Error, Result};
pub use options::{Limits, Options, Rhythm};
pub use outcomes::Outcome;
pub use plugins::Plugins;
pub use states::State;
