//! The MCP door, told by clients of every version that it speaks.

pub(super) mod clients;
mod desks;
mod hostile;
mod items;
mod messages;
mod node_tools;
mod old_sessions;
mod resources;
mod subscriptions;
mod tasks;
mod tools;
mod waits;
