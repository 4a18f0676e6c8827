//! Plugins as they are: well-behaved, clumsy and hostile, over standard input and output and over HTTP.
// Whatever goes wrong here is a broken test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod behaviour;
mod examples;
mod floods;
mod http;
mod programs;
mod scenes;
mod servers;
