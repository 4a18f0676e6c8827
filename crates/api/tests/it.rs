//! The stories of the doors: one binary, so that it links once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

extern crate longhouse_api as api;

mod it {
    mod access_lists;
    mod agent_tokens;
    mod agents;
    mod audit;
    mod audit_rows;
    mod backups;
    mod budgets;
    mod canaries;
    mod clock_jumps;
    mod concurrency;
    mod connections;
    mod deltas;
    mod envelope;
    mod events;
    mod every_route;
    mod expiry;
    mod fuzz;
    mod gateway;
    mod history;
    mod home_projects;
    mod hosts_and_origins;
    mod idempotency;
    mod item_events;
    mod item_limits;
    mod items;
    mod limits_of_the_store;
    mod mcp;
    mod metrics;
    mod nodes;
    mod openapi;
    mod plugins;
    mod policy;
    mod project_rights;
    mod projects;
    mod publications;
    mod publishing;
    mod rate_limits;
    mod reconnects;
    mod reference_model;
    mod room;
    mod rules_of_the_file;
    mod sessions;
    mod shared_context;
    mod sign_in;
    mod skills;
    mod snapshots;
    mod talk;
    mod tokens;
    mod tool_calls;
    mod users;
    mod workshop;
    mod workspaces;
}
