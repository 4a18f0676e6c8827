//! What the product does, one file per noun.
//!
//! Every operation has one home here, `<noun>::<verb>(&Ctx, …)`: resolve what the caller may see, decide with a pure
//! function of `domain`, act and record in one transaction. Doors call these functions and add nothing. Nothing
//! here knows HTTP, and no SQL is written here.

pub mod agents;
pub mod approvals;
pub mod audit;
pub mod authority;
pub mod backups;
pub mod budgets;
pub mod bus;
pub mod ctx;
pub mod data_dir;
pub mod doctor;
mod error;
pub mod gateway;
pub mod health;
pub mod house;
pub mod housekeeping;
pub mod idempotency;
pub mod items;
pub mod messages;
pub mod models;
pub mod nodes;
pub mod paging;
pub mod platform_tools;
pub mod plugins;
pub mod policy;
pub mod projects;
pub mod prompts;
pub mod rules;
pub mod sessions;
pub mod shared_context;
pub mod sign_in;
mod signing;
pub mod skills;
pub mod standing;
pub mod streams;
pub mod surroundings;
pub mod tasks;
mod token_counts;
pub mod tokens;
pub mod tool_calls;
pub mod turns;
pub mod users;
pub mod worker_spaces;
pub mod workspaces;

pub use ctx::Ctx;
pub use error::{Error, Result};
pub use house::House;
