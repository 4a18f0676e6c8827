//! What a model is asked, in words that both protocols can be written from.

use serde_json::Value;

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
