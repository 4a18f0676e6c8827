//! The stories of the store: one binary, so that it links once.
// Whatever goes wrong here is a broken test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

extern crate longhouse_store as store;

mod it {
    mod audit_chains;
    mod damage;
    mod leases;
    mod operations;
    mod queue;
    mod serial;
    mod writer;
}
