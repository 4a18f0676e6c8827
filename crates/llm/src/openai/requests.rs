//! A request in the words of `/chat/completions`.

use crate::names::{CallIds, WireNames};
use crate::{Error, Message, Request, Result, Tool, ToolCall};
use serde::Serialize;
use serde_json::Value;

/// Borrows what it says: a conversation may be long, and is written once.
#[derive(Serialize)]
pub(crate) struct Body<'r> {
    model: &'r str,
    messages: Vec<Said<'r>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    /// An empty list is refused by some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Typed<Offer<'r>>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Said<'r> {
    role: &'static str,
    content: Option<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<PastCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Serialize)]
struct PastCall {
    id: String,
    #[serde(flatten)]
    call: Typed<Called>,
}

/// What is a function, as everything is.
#[derive(Serialize)]
struct Typed<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: T,
}

#[derive(Serialize)]
struct Called {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
struct Offer<'r> {
    name: String,
    description: &'r str,
    parameters: &'r Value,
}

pub(crate) fn body<'r>(request: &'r Request, names: &WireNames) -> Body<'r> {
    let thinks = thinks(&request.model);
    Body {
        model: &request.model,
        messages: messages(request, names),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_completion_tokens: thinks.then_some(request.max_tokens),
        max_tokens: (!thinks).then_some(request.max_tokens),
        temperature: (!thinks).then_some(request.temperature),
        tools: request.tools.iter().map(|tool| function(offer(tool, names))).collect(),
    }
}

pub(crate) fn written_down(body: &Body<'_>) -> Result<Vec<u8>> {
    serde_json::to_vec(body).map_err(|_| Error::Unreachable("the request cannot be written down".to_owned()))
}

/// Models that think first take no temperature and call their limit by another name.
fn thinks(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    ["o1", "o3", "o4", "gpt-5"].iter().any(|family| name.starts_with(family))
}

fn messages<'r>(request: &'r Request, names: &WireNames) -> Vec<Said<'r>> {
    let mut ids = CallIds::default();
    let system = (!request.system.is_empty()).then(|| said("system", &request.system));
    system.into_iter().chain(request.messages.iter().map(|message| written(message, names, &mut ids))).collect()
}

fn said<'r>(role: &'static str, content: &'r str) -> Said<'r> {
    Said { role, content: Some(content), tool_calls: Vec::new(), tool_call_id: None }
}

fn written<'r>(message: &'r Message, names: &WireNames, ids: &mut CallIds) -> Said<'r> {
    match message {
        Message::User { text } => said("user", text),
        Message::Assistant { text, calls } => {
            let is_silent = text.is_empty() && !calls.is_empty();
            let tool_calls = calls.iter().map(|call| past_call(call, names, ids)).collect();
            Said { content: (!is_silent).then_some(text.as_str()), tool_calls, ..said("assistant", text) }
        }
        Message::ToolResult { call_id, content, .. } => {
            Said { tool_call_id: Some(ids.of_result(call_id)), ..said("tool", content) }
        }
    }
}

fn past_call(call: &ToolCall, names: &WireNames, ids: &mut CallIds) -> PastCall {
    let id = ids.begin(&call.id);
    PastCall { id, call: function(Called { name: names.written(&call.name), arguments: call.input().to_string() }) }
}

fn offer<'r>(tool: &'r Tool, names: &WireNames) -> Offer<'r> {
    Offer { name: names.written(&tool.name), description: &tool.description, parameters: &tool.parameters }
}

fn function<T>(function: T) -> Typed<T> {
    Typed { kind: "function", function }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::examples;
    use serde_json::{json, to_value};

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
        assert_eq!(to_value(&body).unwrap(), expected);
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
            let body = to_value(body(&request, &WireNames::default())).unwrap();
            assert_eq!(body.get("temperature").is_none(), expected, "{model}");
            assert_eq!(body.get("max_tokens").is_none(), expected, "{model}");
            assert_eq!(body.get("max_completion_tokens").is_some(), expected, "{model}");
            assert_eq!(body.get("tools"), None, "an empty list is refused by some");
        }
    }
}
