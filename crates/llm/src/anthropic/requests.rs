//! A request in the words of `/v1/messages`.
//!
//! Roles must take turns there and the first one is the user's, results of tools are the user's words, and no text may
//! be blank.

use crate::names::{CallIds, WireNames};
use crate::{Message, Request, Tool};
use serde_json::{Value, json};

/// What stands where nothing was said.
const NOTHING: &str = "(nothing)";
const HIGHEST_TEMPERATURE: f64 = 1.0;

pub(crate) fn body(request: &Request, names: &WireNames) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": messages(&request.messages, names),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature.min(HIGHEST_TEMPERATURE),
        "stream": true,
    });
    if !request.system.trim().is_empty() {
        body["system"] = json!(request.system);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|tool| offer(tool, names)).collect();
    }
    body
}

fn offer(tool: &Tool, names: &WireNames) -> Value {
    json!({ "name": names.written(&tool.name), "description": tool.description, "input_schema": tool.parameters })
}

/// What one side says before the other side speaks.
struct Side {
    role: &'static str,
    blocks: Vec<Value>,
}

fn messages(messages: &[Message], names: &WireNames) -> Vec<Value> {
    let mut ids = CallIds::default();
    let mut sides: Vec<Side> = Vec::new();
    for message in messages {
        let (role, blocks) = blocks(message, names, &mut ids);
        match sides.last_mut() {
            Some(side) if side.role == role => side.blocks.extend(blocks),
            None if role == "assistant" => {
                sides.push(Side { role: "user", blocks: Vec::new() });
                sides.push(Side { role, blocks });
            }
            _ => sides.push(Side { role, blocks }),
        }
    }
    if sides.is_empty() {
        sides.push(Side { role: "user", blocks: Vec::new() });
    }
    sides.into_iter().map(written).collect()
}

fn written(mut side: Side) -> Value {
    if side.blocks.is_empty() {
        side.blocks.push(json!({ "type": "text", "text": NOTHING }));
    }
    // Results must stand before the words that follow them.
    side.blocks.sort_by_key(|block| block["type"] != "tool_result" && side.role == "user");
    json!({ "role": side.role, "content": side.blocks })
}

fn blocks(message: &Message, names: &WireNames, ids: &mut CallIds) -> (&'static str, Vec<Value>) {
    let said = |text: &str| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    match message {
        Message::User { text } => ("user", said(text).into_iter().collect()),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| {
                let (id, name) = (ids.begin(&call.id), names.written(&call.name));
                json!({ "type": "tool_use", "id": id, "name": name, "input": call.input() })
            });
            // Blank space at the end of the last words is refused.
            ("assistant", said(text.trim_end()).into_iter().chain(calls).collect())
        }
        Message::ToolResult { call_id, content, is_error } => {
            let id = ids.of_result(call_id);
            let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
            ("user", vec![block])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::examples;

    #[test]
    fn a_conversation_with_calls_is_written_as_the_protocol_has_it() {
        let request = examples::conversation("claude-sonnet-4-5");
        let body = body(&request, &WireNames::new(&request.tools));
        let expected = json!({
            "model": "claude-sonnet-4-5", "stream": true, "max_tokens": 512, "temperature": 1.0, "system": "Be brief.",
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Which pods run?" }] },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "call_0", "name": "k8s__get", "input": { "kind": "pod" } },
                    { "type": "tool_use", "id": "call_1", "name": "k8s__get", "input": { "unreadable": "{\"kind\":" } },
                ]},
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "call_0", "content": "web-1", "is_error": false },
                    { "type": "tool_result", "tool_use_id": "call_1", "content": "not an object", "is_error": true },
                ]},
                { "role": "assistant", "content": [
                    { "type": "text", "text": "One more look." },
                    { "type": "tool_use", "id": "call_0_2", "name": "k8s__get", "input": {} },
                ]},
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "call_0_2", "content": "web-2", "is_error": false },
                    { "type": "text", "text": "And now?" },
                    { "type": "text", "text": "Well?" },
                ]},
            ],
            "tools": [{ "name": "k8s__get", "description": "Reads.", "input_schema": { "type": "object" } }],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn the_user_speaks_first_and_no_text_is_blank() {
        let user = |text: &str| Message::User { text: text.to_owned() };
        let assistant = |text: &str| Message::Assistant { text: text.to_owned(), calls: Vec::new() };
        let said = |role: &str, text: &str| json!({ "role": role, "content": [{ "type": "text", "text": text }] });
        let cases = [
            (vec![], vec![said("user", NOTHING)]),
            (vec![user(" \n")], vec![said("user", NOTHING)]),
            (vec![assistant("Hello. ")], vec![said("user", NOTHING), said("assistant", "Hello.")]),
            (
                vec![user("a"), assistant(""), user("b")],
                vec![said("user", "a"), said("assistant", NOTHING), said("user", "b")],
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(messages(&given, &WireNames::default()), expected);
        }
    }
}
