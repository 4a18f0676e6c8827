//! What it offers, and what becomes of whoever calls it.

use super::{Plugin, answer, refuse, say};
use serde_json::{Value, json};
use std::io::{self, Write};

const USUAL: [&str; 19] = [
    "echo",
    "about",
    "crash",
    "crash_in_the_middle",
    "hang",
    "cancelled",
    "flood_line",
    "flood_notifications",
    "flood_requests",
    "flood_garbage",
    "giant",
    "change",
    "ask",
    "garbled",
    "refuse",
    "fail",
    "image",
    "deaf",
    "bomb",
];
/// Two are one when written in small letters; others cannot be written at all, or belong to somebody else.
const ODD: [&str; 9] = ["fine", "Same-Name", "same_name", "größe", "with space", "k8s.get", "", "twice", "twice"];

pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

impl Plugin {
    pub(crate) fn listing(&self, cursor: &Value) -> Value {
        let tool = |name: &str| {
            let description = format!("Does {name}, version {}.\u{200b}", self.version);
            json!({"name": name, "description": description, "inputSchema": {"type": "object"},
                   "annotations": {"readOnlyHint": true}})
        };
        let mut listing = match self.habit.as_str() {
            "names" => json!({"tools": ODD.map(tool)}),
            "endless" => {
                let page = cursor.as_str().and_then(|page| page.parse().ok()).unwrap_or(0_u32);
                json!({"tools": [tool(&format!("tool_{page}"))], "nextCursor": (page + 1).to_string()})
            }
            _ => json!({"tools": USUAL.map(tool)}),
        };
        if self.habit == "modern" {
            listing["resultType"] = json!("complete");
        }
        listing
    }

    pub(crate) fn acknowledge(&self, id: &Value) -> io::Result<()> {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
        say(&json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}))
    }

    pub(crate) fn call(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" => answer(id, &text(&arguments.to_string())),
            "about" => answer(id, &text(&self.about().to_string())),
            "crash" => std::process::exit(7),
            "crash_in_the_middle" => {
                io::stdout().write_all(b"{\"jsonrpc\": \"2.0\", \"id\": ")?;
                io::stdout().flush()?;
                std::process::exit(7)
            }
            "hang" => Ok(()),
            "cancelled" => answer(id, &text(&self.cancelled.len().to_string())),
            "giant" => {
                let bytes = arguments["bytes"].as_u64().and_then(|bytes| usize::try_from(bytes).ok());
                answer(id, &text(&"x".repeat(bytes.unwrap_or_default())))
            }
            "change" => self.change(id),
            "ask" => self.ask(id),
            "garbled" => say(&json!({"id": id, "result": {"content": []}})),
            // Small to send, and many times as large once it is read.
            "bomb" => answer(id, &json!({"content": [], "numbers": vec![0; 2_000_000]})),
            "refuse" => refuse(id, -32602, "no such argument"),
            "fail" => answer(id, &json!({"content": [{"type": "text", "text": "it failed"}], "isError": true})),
            "image" => answer(id, &json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]})),
            "deaf" => loop {
                std::thread::park();
            },
            flood => flooding(flood),
        }
    }

    fn about(&self) -> Value {
        let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
        let directory = std::env::current_dir().unwrap_or_default();
        json!({"environment": names, "directory": directory, "process": std::process::id(), "grandchild": self.grandchild})
    }

    fn change(&mut self, id: &Value) -> io::Result<()> {
        self.version += 1;
        let mut changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        if self.habit == "modern" {
            changed["params"] = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": self.subscription}});
        }
        say(&changed)?;
        answer(id, &text("changed"))
    }

    fn ask(&mut self, id: &Value) -> io::Result<()> {
        let sampling =
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 1});
        let elicitation = json!({"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}});
        for (number, (method, params)) in
            [("sampling/createMessage", sampling), ("elicitation/create", elicitation), ("roots/list", json!({}))]
                .into_iter()
                .enumerate()
        {
            say(&json!({"jsonrpc": "2.0", "id": format!("ask-{number}"), "method": method, "params": params}))?;
        }
        self.asking = Some(id.clone());
        Ok(())
    }
}

/// Until the house has enough of it.
fn flooding(what: &str) -> io::Result<()> {
    let piece = match what {
        "flood_notifications" => {
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n"
        }
        "flood_requests" => "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n",
        "flood_garbage" => "garbage\n",
        _ => "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    };
    let mut out = io::stdout().lock();
    loop {
        out.write_all(piece.repeat(100).as_bytes())?;
        out.flush()?;
    }
}
