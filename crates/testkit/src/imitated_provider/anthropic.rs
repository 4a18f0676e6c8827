//! A turn in the words of `/v1/messages`.

use super::turns::{Fault, Turn};
use serde_json::{Value, json};

/// The events of the stream, one by one.
pub(crate) fn events(turn: &Turn, model: &str) -> Vec<String> {
    let has_usage = !turn.has(&Fault::NoUsage);
    let usage = if has_usage { json!({ "input_tokens": turn.usage.0, "output_tokens": 1 }) } else { Value::Null };
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": model, "usage": usage });
    let mut events = vec![json!({ "type": "message_start", "message": message }), json!({ "type": "ping" })];
    if turn.has(&Fault::ErrorInStream) {
        events.push(error());
        return events.iter().map(written).collect();
    }
    let pieces = turn.pieces();
    let deltas = pieces.iter().map(|piece| json!({ "type": "text_delta", "text": piece })).collect();
    if !pieces.is_empty() {
        events.extend(block(0, &json!({ "type": "text", "text": "" }), deltas));
    }
    if turn.has(&Fault::ErrorAfterText) {
        events.push(error());
        return events.iter().map(written).collect();
    }
    for (index, (name, arguments)) in (1..).zip(turn.wire_calls()) {
        let letters: Vec<char> = arguments.chars().collect();
        let deltas = letters
            .chunks(6)
            .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece.iter().collect::<String>() }));
        let head = json!({ "type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {} });
        events.extend(block(index, &head, deltas.collect()));
    }
    if !turn.has(&Fault::NoFinish) {
        let usage = if has_usage { json!({ "output_tokens": turn.usage.1 }) } else { Value::Null };
        events.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason(turn) }, "usage": usage }));
        events.push(json!({ "type": "message_stop" }));
    }
    events.iter().map(written).collect()
}

pub(crate) fn at_once(turn: &Turn, model: &str) -> Value {
    let text = (!turn.text.is_empty()).then(|| json!({ "type": "text", "text": turn.text }));
    let calls = (1..).zip(&turn.calls).map(|(index, (name, input))| {
        let name = name.replace('.', "__");
        json!({ "type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": input })
    });
    let usage = json!({ "input_tokens": turn.usage.0, "output_tokens": turn.usage.1 });
    let content: Vec<_> = text.into_iter().chain(calls).collect();
    json!({ "type": "message", "model": model, "content": content, "stop_reason": reason(turn), "usage": usage })
}

fn written(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn block(index: usize, head: &Value, deltas: Vec<Value>) -> Vec<Value> {
    let start = json!({ "type": "content_block_start", "index": index, "content_block": head });
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = json!({ "type": "content_block_stop", "index": index });
    std::iter::once(start).chain(deltas.into_iter().map(delta)).chain([stop]).collect()
}

fn error() -> Value {
    json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })
}

fn reason(turn: &Turn) -> &'static str {
    match (turn.is_cut_short, turn.calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    }
}
