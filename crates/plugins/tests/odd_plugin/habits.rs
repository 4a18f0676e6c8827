//! How it begins and ends, and what it says of itself.

use super::Plugin;
use serde_json::{Value, json};
use std::io;
use std::process::{Command, ExitCode, Stdio};

pub(crate) fn introduction(version: &Value) -> Value {
    let capabilities = json!({"tools": {"listChanged": true}});
    json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "odd", "version": "1"}})
}

pub(crate) fn discovery() -> Value {
    json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "odd", "version": "2"}}
    })
}

/// What it does before it listens; an end, if that was all.
pub(crate) fn begin(plugin: &mut Plugin) -> Option<ExitCode> {
    match plugin.habit.as_str() {
        "crash-at-start" => {
            io::Write::write_all(&mut io::stderr(), b"boom: no such cluster\n").ok();
            Some(ExitCode::from(3))
        }
        "hang-at-start" => loop {
            std::thread::park();
        },
        // It keeps all pipes open, whatever becomes of its parent.
        "forks" => {
            let child = Command::new("sleep").arg("3600").stdin(Stdio::null()).spawn();
            plugin.grandchild = child.ok().map(|child| child.id());
            None
        }
        _ => None,
    }
}

/// Its input is closed.
pub(crate) fn end(plugin: &Plugin) -> ExitCode {
    if plugin.habit == "stubborn" {
        loop {
            std::thread::park();
        }
    }
    ExitCode::SUCCESS
}
