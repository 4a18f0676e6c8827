//! Faults of every kind, each done to the real binary under a mixed load. What was acknowledged must be there
//! afterwards, and nothing else: `oracle.rs` keeps the account.

mod kill;
mod size_limit;
mod sync_kill;
