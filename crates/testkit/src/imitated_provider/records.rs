//! What the imitation was asked, and how much of it at once.

use crate::wire_http::WireRequest;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// Which connection it came over.
    pub connection: usize,
}

impl ModelRequest {
    pub(crate) fn new(request: WireRequest, connection: usize) -> Self {
        Self { path: request.path, headers: request.headers, body: request.body, connection }
    }

    pub(crate) fn is_anthropic(&self) -> bool {
        self.path.ends_with("/messages")
    }

    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub fn system(&self) -> String {
        if self.is_anthropic() {
            return said(&self.body["system"]);
        }
        let system = self.messages().iter().filter(|message| message["role"] == "system");
        system.map(|message| said(&message["content"])).collect::<Vec<_>>().join("\n")
    }

    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The last words of the user; results of tools are no words.
    pub fn last_user_text(&self) -> String {
        let mut words = self.messages().iter().rev().filter(|message| message["role"] == "user");
        words.find_map(|message| Some(said(&message["content"])).filter(|text| !text.is_empty())).unwrap_or_default()
    }

    /// What tools answered, in order, as far as the request has it.
    pub fn tool_results(&self) -> Vec<String> {
        let mut found = Vec::new();
        for message in self.messages() {
            if message["role"] == "tool" {
                found.push(said(&message["content"]));
            }
            let blocks = message["content"].as_array().into_iter().flatten();
            found.extend(blocks.filter(|block| block["type"] == "tool_result").map(|block| said(&block["content"])));
        }
        found
    }

    /// The names on offer, as they went over the wire.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned);
        tools.filter_map(name).collect()
    }

    fn has(&self, marker: &str) -> bool {
        marker.is_empty() || self.model() == marker || self.system().contains(marker)
    }
}

/// A text, or the texts of several blocks.
fn said(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Records {
    requests: Vec<ModelRequest>,
    /// Which request began or ended, in order.
    changes: Vec<(usize, Change)>,
    hung_up: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Begun,
    Ended,
}

impl Records {
    pub(crate) fn begin(&mut self, request: ModelRequest) -> usize {
        let number = self.requests.len();
        self.requests.push(request);
        self.changes.push((number, Change::Begun));
        number
    }

    pub(crate) fn end(&mut self, number: usize, is_answered: bool) {
        self.changes.push((number, Change::Ended));
        self.hung_up += usize::from(!is_answered);
    }

    pub(crate) fn requests(&self) -> &[ModelRequest] {
        &self.requests
    }

    pub(crate) fn hung_up(&self) -> usize {
        self.hung_up
    }

    pub(crate) fn in_flight(&self, marker: &str) -> usize {
        self.counts(marker).last().unwrap_or(0)
    }

    pub(crate) fn most_in_flight(&self, marker: &str) -> usize {
        self.counts(marker).max().unwrap_or(0)
    }

    /// How many were in flight after each change.
    fn counts(&self, marker: &str) -> impl Iterator<Item = usize> {
        let of_marker = self.changes.iter().filter(move |(number, _)| self.requests[*number].has(marker));
        of_marker.scan(0, |count, (_, change)| {
            *count = if *change == Change::Begun { *count + 1 } else { *count - 1 };
            Some(*count)
        })
    }
}
