//! The stories of turns: one binary, so that it links once.
// Whatever goes wrong here is a broken test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

extern crate longhouse_agent as agent;

mod it {
    mod anything;
    mod histories;
    mod house;
    mod outputs;
    mod parking;
    mod refusals;
    mod retries;
    mod scenes;
    mod steps;
    mod summaries;
}
