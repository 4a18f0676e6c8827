//! The words and rules of Longhouse: ids, entities, limits and decisions.
//!
//! Nothing here does I/O, waits, or reads a clock: every rule is a function of its arguments, so it can be
//! tested as a table and asked from any door.

pub mod addresses;
pub mod agents;
pub mod answers;
pub mod approvals;
pub mod audit;
pub mod budgets;
pub mod callers;
pub mod capabilities;
pub mod channels;
pub mod codes;
pub mod commands;
pub mod deliveries;
pub mod diffs;
pub mod digests;
pub mod entries;
pub mod events;
mod fields;
pub mod guide;
pub mod history;
pub mod ids;
pub mod item_requests;
pub mod items;
pub mod keys;
pub mod ledger;
pub mod messages;
pub mod model_names;
pub mod money;
pub mod node_tools;
pub mod nodes;
pub mod notices;
pub mod participants;
pub mod paths;
pub mod platform_tools;
pub mod plugins;
pub mod policy;
pub mod prices;
pub mod projects;
pub mod publications;
pub mod refusals;
pub mod requests;
pub mod risks;
pub mod roles;
pub mod routing;
pub mod rules;
pub mod sessions;
pub mod skill_requests;
pub mod skills;
pub mod snapshots;
pub mod standing_rules;
pub mod strict_json;
pub mod tasks;
pub mod times;
pub mod tokens;
pub mod tool_calls;
pub mod tool_schemas;
pub mod users;
pub mod worker_spaces;
pub mod workspaces;

pub use codes::Code;
pub use refusals::{Refusal, Result};
