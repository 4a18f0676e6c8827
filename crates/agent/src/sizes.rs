//! How large a text is for a model, estimated from above: three bytes a token. Money and room are set aside by it.

use llm::{Message, Request};

const BYTES_PER_TOKEN: u64 = 3;
/// What the form around a message costs.
const PER_MESSAGE: u64 = 8;

pub(crate) fn of_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

pub(crate) fn of_request(request: &Request) -> u64 {
    let messages: u64 = request.messages.iter().map(of_message).sum();
    let tools = request.tools.iter().map(|tool| {
        of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string()) + PER_MESSAGE
    });
    of_text(&request.system) + messages + tools.sum::<u64>()
}

fn of_message(message: &Message) -> u64 {
    let content = match message {
        Message::User { text } => of_text(text),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| of_text(&call.id) + of_text(&call.name) + of_text(&call.arguments));
            of_text(text) + calls.sum::<u64>()
        }
        Message::ToolResult { call_id, content, .. } => of_text(call_id) + of_text(content),
    };
    content + PER_MESSAGE
}
