//! The node as its users meet it, and as whoever means it harm does: one binary, so that it links once.
// Whatever goes wrong here is a broken test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

extern crate longhouse_node as node;

mod it {
    mod commands;
    mod compaction;
    mod daemon;
    mod files;
    mod houses;
    mod journal;
    mod kills;
    mod machines;
    mod networks;
    mod odd_houses;
    mod paths;
    mod previews;
    mod races;
    mod scenes;
    mod shown_again;
    mod undo;
}
