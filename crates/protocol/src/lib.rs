//! The published contract: the JSON of every door. What is not here (or in `domain::requests`, `domain::answers` and
//! `domain::item_requests`, `domain::skill_requests`, the envelopes of the tools) is not promised to anybody.

pub mod admin;
pub mod approvals;
pub mod budgets;
pub mod errors;
pub mod gateway;
pub mod health;
pub mod me;
pub mod messages;
pub mod nodes;
pub mod plugins;
pub mod policy;
pub mod projects;
pub mod publications;
pub mod sessions;
pub mod skills;
pub mod tasks;
pub mod tokens;
pub mod tool_calls;
pub mod tools;
pub mod worker_spaces;
pub mod workspaces;
