//! The clients against an imitation of the providers, over real connections.
#![allow(clippy::unwrap_used)]

mod asks;
mod faults;
mod lines;
mod replies;
