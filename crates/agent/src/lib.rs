//! The turn loop: context in, model, tool requests out through a [`ToolHost`].
//!
//! There is one engine for every door. It cannot see rows, so it can skip no check: whether a tool may be used, whether
//! there is money, what is kept and what is shown, it asks its host for. Model output is attacker text: it can ask, and
//! what is not whole is never acted on.

mod arguments;
mod calls;
mod cuts;
mod histories;
mod host;
mod prompts;
mod proposals;
mod retries;
mod runs;
mod summaries;
mod turns;
mod windows;

pub use host::{Called, KeptCall, Outcome, ProposedCall, Step, Stopped, Ticket, ToolHost};
pub use runs::run;
pub use turns::{Answer, End, Past, PastStep, Profile, Said, Turn};
