//! Rows, the queue of writes, the outbox and its fan-out.
//!
//! Only this crate opens a database and holds SQL. It decides nothing: operations come from `service`, run in one
//! transaction each, and are acknowledged when they are on disk. Tenant rows are reached through [`Tx::scope`], or
//! through a user's memberships where the workspace is what is looked for; the house's own views say so.

mod agents;
mod approvals;
mod audit;
mod bindings;
mod connection;
mod deliveries;
mod entries;
mod error;
mod events;
mod fan_out;
mod heard_messages;
mod history;
mod house_rules;
mod idempotency;
#[cfg(all(test, feature = "interleavings"))]
mod interleavings;
mod items;
mod jobs;
mod leases;
mod ledger;
mod messages;
mod migrations;
mod nodes;
mod notices;
mod operation;
mod plugins;
mod postgres;
mod projects;
mod publications;
mod queue;
mod rows;
mod scope;
mod sender_pairings;
mod sessions;
mod shared;
mod sign_in_codes;
mod snapshots;
mod sqlite;
mod standing_rules;
mod store;
mod sums;
mod sync;
mod tasks;
mod tokens;
mod tool_calls;
mod tx;
#[cfg(test)]
mod upgrades;
mod users;
mod workspaces;

pub use audit::{ChainFault, ChainPosition};
pub use bindings::{BoundPlace, KnownIdentity};
pub use error::{Error, Result};
pub use events::Retention;
pub use fan_out::{Bell, Heard, News, Watch};
pub use heard_messages::HeardMessage;
pub use house_rules::AcceptedRules;
pub use idempotency::{Claim, StoredOutcome};
pub use leases::Lease;
pub use ledger::Spending;
pub use nodes::Pairing;
pub use notices::Untold;
pub use operation::{LITTLE_BYTES, Operation};
pub use plugins::{AcceptedTool, Described, KnownPlugin};
pub use scope::Scope;
pub use sender_pairings::SenderPairing;
pub use shared::{Condition, WriterFigures};
pub use snapshots::FrozenEntry;
pub use store::{Options, Storage, Store};
pub use tasks::{QueuedFor, Unfinished};
pub use tool_calls::ToolCallPlace;
pub use tx::Tx;
pub use users::KnownUser;
pub use workspaces::{Grant, WorkspaceRow};
