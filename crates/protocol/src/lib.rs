//! The published contract: the JSON of every door. What is not here (or in `domain::requests` and `domain::answers`,
//! the envelope of the `shared_context` tool) is not promised to anybody.

pub mod admin;
pub mod errors;
pub mod health;
pub mod me;
pub mod sessions;
pub mod tokens;
pub mod tools;
