//! An MCP server over standard input and output with every bad habit that a plugin can have; its first argument says which of
//! them it has from its start. Written without the SDK, because that would not let it misbehave.

mod habits;
mod tools;

use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

/// What it knows of its conversation.
#[derive(Default)]
pub(crate) struct Plugin {
    pub(crate) habit: String,
    /// Its descriptions carry this number.
    pub(crate) version: u32,
    pub(crate) cancelled: Vec<Value>,
    /// The call that waits for answers to what was asked of the house, and these.
    pub(crate) asking: Option<Value>,
    pub(crate) answers: Vec<Value>,
    pub(crate) grandchild: Option<u32>,
    /// The request that wants to hear of changes.
    pub(crate) subscription: Value,
}

pub(crate) fn say(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(message.to_string().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

pub(crate) fn answer(id: &Value, result: &Value) -> io::Result<()> {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

pub(crate) fn refuse(id: &Value, code: i64, message: &str) -> io::Result<()> {
    say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

impl Plugin {
    fn hear(&mut self, message: &Value) -> io::Result<()> {
        let id = &message["id"];
        if self.habit == "noisy" {
            io::stdout().write_all("Listening on nothing…\n{\"half\": \n[1, 2]\n".as_bytes())?;
            io::stderr().write_all(&[b'e'; 100_000])?;
        }
        match message["method"].as_str() {
            Some("initialize") if self.habit == "modern" => refuse(id, -32601, "no such method"),
            Some("initialize") => answer(id, &habits::introduction(&message["params"]["protocolVersion"])),
            Some("server/discover") if self.habit == "modern" => answer(id, &habits::discovery()),
            Some("subscriptions/listen") => {
                self.subscription = id.clone();
                self.acknowledge(id)
            }
            Some("tools/list") => answer(id, &self.listing(&message["params"]["cursor"])),
            Some("tools/call") => self.call(id, &message["params"]),
            Some("notifications/cancelled") => {
                self.cancelled.push(message["params"]["requestId"].clone());
                Ok(())
            }
            Some(_) if id.is_null() => Ok(()),
            Some(_) => refuse(id, -32601, "no such method"),
            None => self.hear_answer(message),
        }
    }

    /// The house answers what was asked of it.
    fn hear_answer(&mut self, message: &Value) -> io::Result<()> {
        self.answers.push(message["error"]["code"].clone());
        match self.asking.take_if(|_| self.answers.len() == 3) {
            Some(id) => answer(&id, &tools::text(&format!("{:?}", self.answers))),
            None => Ok(()),
        }
    }
}

fn main() -> ExitCode {
    let mut plugin = Plugin { habit: std::env::args().nth(1).unwrap_or_default(), ..Plugin::default() };
    if let Some(code) = habits::begin(&mut plugin) {
        return code;
    }
    for line in io::stdin().lock().lines() {
        let Ok(message) = line.map_err(drop).and_then(|line| serde_json::from_str(&line).map_err(drop)) else {
            return ExitCode::FAILURE;
        };
        if plugin.hear(&message).is_err() {
            return ExitCode::FAILURE;
        }
    }
    habits::end(&plugin)
}
