//! The real binary, from outside: start, stop, kill, command line.
// Whatever goes wrong here is a failed test.
#![allow(clippy::unwrap_used, clippy::expect_used)]
mod it {
    mod bad_plugins;
    mod binary;
    mod channels;
    mod chat;
    mod client;
    mod command_line;
    mod config;
    mod config_reloads;
    mod crash_table;
    mod door;
    mod faults;
    mod first_start;
    mod gateway;
    mod items;
    mod load;
    mod mcp;
    mod network;
    mod node_tools;
    mod nodes;
    mod oracle;
    mod plugins;
    mod policy;
    mod projects;
    mod records;
    mod screens;
    mod slow_readers;
    mod small_disk;
    mod streams;
    mod terminals;
    mod traces;
    mod webhooks;
    mod workspaces;
}
