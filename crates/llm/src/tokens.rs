//! Estimated sizes in tokens, a little above what real tokenizers find in prose, because money is set aside by them.

use crate::{Message, Request, ToolCall};
use serde::Serialize;
use std::io;

const BYTES_PER_TOKEN: u64 = 3;
/// What a provider adds around each message, call and tool.
const PER_PART: u64 = 8;

pub fn of_text(text: &str) -> u64 {
    tokens(length(text))
}

pub fn of_message(message: &Message) -> u64 {
    match message {
        Message::User { text } => PER_PART + of_text(text),
        Message::Assistant { text, calls } => PER_PART + of_text(text) + calls.iter().map(of_call).sum::<u64>(),
        Message::ToolResult { call_id, content, .. } => PER_PART + tokens(length(call_id) + length(content)),
    }
}

/// Everything that a model reads before it answers.
pub fn of_request(request: &Request) -> u64 {
    let messages: u64 = request.messages.iter().map(of_message).sum();
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| PER_PART + tokens(length(&tool.name) + length(&tool.description) + json_length(&tool.parameters)))
        .sum();
    PER_PART + of_text(&request.system) + messages + tools
}

fn of_call(call: &ToolCall) -> u64 {
    PER_PART + tokens(length(&call.id) + length(&call.name) + length(&call.arguments))
}

fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// Counts what would be written, and writes it nowhere.
fn json_length(value: &impl Serialize) -> u64 {
    struct Counter(u64);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting cannot fail, and a value that cannot be written is not sent either.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::examples;
    use serde_json::json;

    #[test]
    fn three_bytes_are_a_token_and_a_rest_counts_whole() {
        for (text, expected) in [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("äöü", 2), ("😀", 2)] {
            assert_eq!(of_text(text), expected, "{text}");
        }
    }

    #[test]
    fn all_that_is_sent_counts() {
        let request = examples::conversation("gpt-4");
        let all = of_request(&request);
        let without = |change: fn(&mut Request)| {
            let mut less = request.clone();
            change(&mut less);
            of_request(&less)
        };
        assert!(without(|request| request.system.clear()) < all);
        assert!(without(|request| request.tools.clear()) < all);
        assert!(without(|request| request.messages.truncate(1)) < all);
        assert!(without(|request| request.messages[1] = Message::User { text: String::new() }) < all);
        assert_eq!(json_length(&json!({ "a": [1, "ä"] })), 14);
    }

    #[test]
    fn the_estimate_is_not_below_the_bytes_that_are_sent_by_three() {
        let mut request = examples::conversation("gpt-4");
        request.system = "word ".repeat(1000);
        assert!(of_request(&request) >= 5000 / 3);
    }
}
