//! A request in the words of `/chat/completions`.

use crate::names::{CallIds, WireNames};
use crate::{Message, Request, Tool, ToolCall};
use serde_json::{Value, json};

pub(crate) fn body(request: &Request, names: &WireNames) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": messages(request, names),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if thinks(&request.model) {
        body["max_completion_tokens"] = json!(request.max_tokens);
    } else {
        body["max_tokens"] = json!(request.max_tokens);
        body["temperature"] = json!(request.temperature);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|tool| offer(tool, names)).collect();
    }
    body
}

/// Models that think first take no temperature and call their limit by another name.
fn thinks(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    ["o1", "o3", "o4", "gpt-5"].iter().any(|family| name.starts_with(family))
}

fn messages(request: &Request, names: &WireNames) -> Vec<Value> {
    let mut ids = CallIds::default();
    let system = (!request.system.is_empty()).then(|| json!({ "role": "system", "content": request.system }));
    system.into_iter().chain(request.messages.iter().map(|message| written(message, names, &mut ids))).collect()
}

fn written(message: &Message, names: &WireNames, ids: &mut CallIds) -> Value {
    match message {
        Message::User { text } => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => json!({ "role": "assistant", "content": text }),
        Message::Assistant { text, calls } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            let calls: Vec<_> = calls.iter().map(|call| past_call(call, names, ids)).collect();
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        Message::ToolResult { call_id, content, .. } => {
            json!({ "role": "tool", "tool_call_id": ids.of_result(call_id), "content": content })
        }
    }
}

fn past_call(call: &ToolCall, names: &WireNames, ids: &mut CallIds) -> Value {
    let function = json!({ "name": names.written(&call.name), "arguments": call.input().to_string() });
    json!({ "id": ids.begin(&call.id), "type": "function", "function": function })
}

fn offer(tool: &Tool, names: &WireNames) -> Value {
    let function = json!({
        "name": names.written(&tool.name), "description": tool.description, "parameters": tool.parameters,
    });
    json!({ "type": "function", "function": function })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::examples;

    #[test]
    fn a_conversation_with_calls_is_written_as_the_protocol_has_it() {
        let request = examples::conversation("gpt-4o");
        let body = body(&request, &WireNames::new(&request.tools));
        let expected = json!({
            "model": "gpt-4o", "stream": true, "stream_options": { "include_usage": true },
            "max_tokens": 512, "temperature": 1.5,
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Which pods run?" },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "call_0", "type": "function", "function": { "name": "k8s__get", "arguments": "{\"kind\":\"pod\"}" } },
                    { "id": "call_1", "type": "function", "function": { "name": "k8s__get", "arguments": "{\"unreadable\":\"{\\\"kind\\\":\"}" } },
                ]},
                { "role": "tool", "tool_call_id": "call_0", "content": "web-1" },
                { "role": "tool", "tool_call_id": "call_1", "content": "not an object" },
                { "role": "assistant", "content": "One more look.", "tool_calls": [
                    { "id": "call_0_2", "type": "function", "function": { "name": "k8s__get", "arguments": "{}" } },
                ]},
                { "role": "tool", "tool_call_id": "call_0_2", "content": "web-2" },
                { "role": "user", "content": "And now?" },
                { "role": "user", "content": "Well?" },
            ],
            "tools": [{ "type": "function", "function": {
                "name": "k8s__get", "description": "Reads.", "parameters": { "type": "object" },
            }}],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn models_that_think_take_no_temperature() {
        let cases = [
            ("gpt-4o", false),
            ("gpt-4", false),
            ("gpt-3.5-turbo", false),
            ("olmo", false),
            ("openai/gpt-4o", false),
            ("o1", true),
            ("o3-mini", true),
            ("o4-mini-2025-04-16", true),
            ("gpt-5", true),
            ("gpt-5.1-mini", true),
            ("openai/gpt-5", true),
        ];
        for (model, expected) in cases {
            let mut request = examples::conversation(model);
            request.tools.clear();
            let body = body(&request, &WireNames::default());
            assert_eq!(body.get("temperature").is_none(), expected, "{model}");
            assert_eq!(body.get("max_tokens").is_none(), expected, "{model}");
            assert_eq!(body.get("max_completion_tokens").is_some(), expected, "{model}");
            assert_eq!(body.get("tools"), None, "an empty list is refused by some");
        }
    }
}
