//! The real binary with its rows in PostgreSQL: killed, cut off, backed up, moved. `cargo xtask test` runs this.
// Whatever goes wrong here is a failed test. The scene is shared with `it.rs`, which uses more of it.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code)]
mod it {
    mod binary;
    mod client;
    mod door;
    mod load;
    mod on_postgres;
    mod oracle;
    mod postgres;
    mod records;
    mod small_disk;
}
