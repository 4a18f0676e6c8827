//! The MCP door, told by clients of every version that it speaks.

pub(super) mod clients;
mod hostile;
mod items;
mod messages;
mod old_sessions;
mod resources;
mod subscriptions;
mod tools;
