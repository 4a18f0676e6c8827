//! A provider whose answers are fixed: short streams of the chat-completions protocol, which cost it next to nothing.

use crate::processes::{self, Server};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// `after_tool`: what it says to conversations that end with what a tool brought.
pub(crate) fn start(folder: &Path, delay: Duration, answer: &str, after_tool: Option<&str>) -> Result<Server> {
    let answer_file = folder.join("answer.sse");
    std::fs::write(&answer_file, answer)?;
    let address = processes::free_address()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["static-route", "--listen", &address.to_string(), "--path", "/v1/chat/completions"]);
    command.args(["--content-type", "text/event-stream", "--delay-ms", &delay.as_millis().to_string()]);
    command.arg("--answer").arg(answer_file);
    if let Some(answer) = after_tool {
        let file = folder.join("after_tool.sse");
        std::fs::write(&file, answer)?;
        command.arg("--after-tool").arg(file);
    }
    Server::start(&mut command, address, &folder.join("provider.log"))
}

/// An answer in a few words.
pub(crate) fn words() -> String {
    let words = ["Things ", "are ", "well, ", "thank ", "you."].map(|word| json!({"content": word}));
    stream(words, "stop")
}

/// The wish for a tool.
pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
    stream([json!({"content": "I write it down."}), json!({"tool_calls": [call]})], "tool_calls")
}

fn stream(deltas: impl IntoIterator<Item = Value>, finish: &str) -> String {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let mut text = chunk(json!({"role": "assistant", "content": ""}), None);
    deltas.into_iter().for_each(|delta| text += &chunk(delta, None));
    text += &chunk(json!({}), Some(finish));
    let usage = json!({"id": "c", "choices": [], "usage": {"prompt_tokens": 2000, "completion_tokens": 8}});
    text + &format!("data: {usage}\n\ndata: [DONE]\n\n")
}
