//! The doors: HTTP and server-sent events.
//!
//! A door parses, calls one function of `service` and renders. No decision is made here and no row is seen. Who the
//! caller is, which host and origin it came from and how often are settled before any door opens.

mod admin;
mod agents;
mod app;
mod approvals;
mod bodies;
mod budgets;
mod connections;
mod docs;
mod errors;
mod events;
mod gateway;
mod health;
mod hosts;
mod idempotency;
mod items;
mod limits;
mod listeners;
mod mcp;
mod me;
mod messages;
mod metrics;
mod nodes;
mod openapi;
mod paths;
mod plugins;
mod policy;
mod projects;
mod query;
mod router;
mod sessions;
mod shared_context;
mod sign_in;
mod signed;
mod skills;
mod strict_json;
mod tasks;
mod tokens;
mod tool_calls;
mod tools;
mod welcome;
mod worker_spaces;
mod workspaces;

pub use app::{App, Options};
pub use health::TEMPORARY;
pub use hosts::Hosts;
pub use limits::RateLimit;
pub use listeners::{Bound, Tls, bind, bind_socket, serve};
pub use openapi::document;
pub use router::{Door, Entrance, Peer, entrance};
