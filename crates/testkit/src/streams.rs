//! Reading server-sent events.

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::Value;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

pub struct Events {
    body: Body,
    pending: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// Of an event that has none, 0.
    pub id: u64,
    pub is_numbered: bool,
    pub kind: String,
    pub data: Value,
}

impl Events {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, pending: String::new() }
    }

    /// The next event; `None` when the stream has ended. Comments and hints are passed over.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(end) = self.pending.find("\n\n") {
                let block: String = self.pending.drain(..end + 2).collect();
                if let Some(event) = parse(&block) {
                    return Some(event);
                }
                continue;
            }
            let frame =
                tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("an event within ten seconds")?;
            let bytes = frame.expect("a whole stream").into_data().expect("data");
            self.pending.push_str(std::str::from_utf8(&bytes).expect("text"));
        }
    }

    /// The next `count` events.
    pub async fn take(&mut self, count: usize) -> Vec<StreamEvent> {
        let mut found = Vec::new();
        for _ in 0..count {
            found.push(self.next().await.expect("the stream goes on"));
        }
        found
    }
}

/// Reads one event; `None` for comments and hints.
pub(crate) fn parse(block: &str) -> Option<StreamEvent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    let data = field("data: ")?;
    let id = field("id: ").map(|id| id.parse().expect("a number"));
    // What is recorded, all but this kind, can be resumed from.
    assert!(id.is_some() || block.starts_with("event: MESSAGE_DELTA\n"), "an id: {block}");
    Some(StreamEvent {
        id: id.unwrap_or(0),
        is_numbered: id.is_some(),
        kind: field("event: ").expect("a kind").to_owned(),
        data: serde_json::from_str(data).expect("JSON"),
    })
}
