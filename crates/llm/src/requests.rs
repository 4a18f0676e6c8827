//! What a model is asked, in words that both protocols can be written from.

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The name that the provider knows the model by.
    pub model: String,
    /// What the model is told before the conversation.
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    pub max_tokens: u64,
    pub temperature: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    User {
        text: String,
    },
    Assistant {
        text: String,
        calls: Vec<ToolCall>,
    },
    /// What became of a call that the assistant's message before it asked for.
    ToolResult {
        call_id: String,
        content: String,
        is_error: bool,
    },
}

/// A tool on offer. Its name may hold dots, which providers refuse: they are written otherwise on the wire, and only there.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// A JSON Schema of an object.
    pub parameters: Value,
}

/// A call as the model wrote it. The arguments are its text and may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

impl ToolCall {
    /// The arguments as the object that providers want to see again. What was none is shown as the text that it was, so
    /// that the model sees its mistake and the provider does not refuse the whole conversation for it.
    pub(crate) fn input(&self) -> Value {
        match serde_json::from_str(&self.arguments) {
            Ok(value @ Value::Object(_)) => value,
            _ if self.arguments.trim().is_empty() => json!({}),
            _ => json!({ "unreadable": self.arguments }),
        }
    }
}

#[cfg(test)]
pub(crate) mod examples {
    use super::*;

    /// Calls, their results, a broken call, a repeated id, and a user who speaks twice.
    pub(crate) fn conversation(model: &str) -> Request {
        let user = |text: &str| Message::User { text: text.to_owned() };
        let call = |id: &str, arguments: &str| ToolCall {
            id: id.to_owned(),
            name: "k8s.get".to_owned(),
            arguments: arguments.to_owned(),
        };
        let result = |call_id: &str, content: &str, is_error| Message::ToolResult {
            call_id: call_id.to_owned(),
            content: content.to_owned(),
            is_error,
        };
        let calls = vec![call("call_0", r#"{"kind":"pod"}"#), call("call_1", r#"{"kind":"#)];
        Request {
            model: model.to_owned(),
            system: "Be brief.".to_owned(),
            messages: vec![
                user("Which pods run?"),
                Message::Assistant { text: String::new(), calls },
                result("call_0", "web-1", false),
                result("call_1", "not an object", true),
                Message::Assistant { text: "One more look.".to_owned(), calls: vec![call("call_0", "")] },
                result("call_0", "web-2", false),
                user("And now?"),
                user("Well?"),
            ],
            tools: vec![Tool {
                name: "k8s.get".to_owned(),
                description: "Reads.".to_owned(),
                parameters: json!({ "type": "object" }),
            }],
            max_tokens: 512,
            temperature: 1.5,
        }
    }
}
