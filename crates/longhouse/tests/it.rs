//! The real binary, from outside: start, stop, kill, command line.
// Whatever goes wrong here is a failed test.
#![allow(clippy::unwrap_used, clippy::expect_used)]
mod it {
    mod binary;
    mod command_line;
    mod crash;
    mod first_start;
    mod network;
    mod records;
    mod slow_readers;
    mod streams;
}
