//! Calls of tools on a person's machine, and the states they go through. Pure; `service` asks here before every step.

#[cfg(test)]
mod model;
mod states;

pub use states::{CallStatus, Risk};
