//! A turn in the words of `/chat/completions`.

use super::turns::{Fault, Turn};
use serde_json::{Value, json};

/// The events of the stream, one by one.
pub(crate) fn events(turn: &Turn, model: &str) -> Vec<String> {
    if turn.has(&Fault::ErrorInStream) {
        return vec![written(&error())];
    }
    let mut chunks = vec![chunk(model, &json!({ "role": "assistant", "content": "" }), None)];
    chunks.extend(turn.pieces().iter().map(|piece| chunk(model, &json!({ "content": piece }), None)));
    if turn.has(&Fault::ErrorAfterText) {
        chunks.push(error());
        return chunks.iter().map(written).collect();
    }
    for (index, (name, arguments)) in turn.wire_calls().iter().enumerate() {
        let function = json!({ "name": name, "arguments": "" });
        let head = json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function });
        chunks.push(chunk(model, &json!({ "tool_calls": [head] }), None));
        for piece in arguments.chars().collect::<Vec<_>>().chunks(6) {
            let function = json!({ "arguments": piece.iter().collect::<String>() });
            chunks.push(chunk(model, &json!({ "tool_calls": [{ "index": index, "function": function }] }), None));
        }
    }
    if !turn.has(&Fault::NoFinish) {
        chunks.push(chunk(model, &json!({}), Some(reason(turn))));
    }
    if !turn.has(&Fault::NoUsage) {
        chunks.push(json!({ "model": model, "choices": [], "usage": usage(turn) }));
    }
    let mut events: Vec<_> = chunks.iter().map(written).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events
}

pub(crate) fn at_once(turn: &Turn, model: &str) -> Value {
    let calls = turn.wire_calls().into_iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "id": format!("call_{index}"), "type": "function", "function": function })
    });
    let message = json!({ "role": "assistant", "content": turn.text, "tool_calls": calls.collect::<Vec<_>>() });
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason(turn) });
    json!({ "model": model, "choices": [choice], "usage": usage(turn) })
}

fn written(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

fn chunk(model: &str, delta: &Value, finish_reason: Option<&str>) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": [choice] })
}

fn error() -> Value {
    json!({ "error": { "message": "The server is overloaded.", "type": "server_error", "code": 503 } })
}

fn reason(turn: &Turn) -> &'static str {
    match (turn.is_cut_short, turn.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    }
}

fn usage(turn: &Turn) -> Value {
    let (input, output) = turn.usage;
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}
