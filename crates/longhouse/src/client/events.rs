//! Server-sent events, put together from the pieces of a body.

use axum::body::Body;
use http_body_util::BodyExt;

/// One event: its id, if it has one, and its data, which may be empty.
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

pub(crate) struct Events {
    body: Body,
    pending: Vec<u8>,
}

impl Events {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, pending: Vec::new() }
    }

    /// The next event; `None` when the stream has ended, however it did.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.pending.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.pending.drain(..end + 2).collect();
                return Some(parse(&String::from_utf8_lossy(&block)));
            }
            if let Ok(bytes) = self.body.frame().await?.ok()?.into_data() {
                self.pending.extend_from_slice(&bytes);
            }
        }
    }
}

fn parse(block: &str) -> Event {
    let values = |name: &'static str| {
        let found = block.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(':'));
        found.map(|value| value.strip_prefix(' ').unwrap_or(value))
    };
    Event { id: values("id").next_back().map(str::to_owned), data: values("data").collect::<Vec<_>>().join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_are_put_together_from_any_pieces() {
        let text = "data: \nid: 0\nretry: 3000\n\n: ping\n\ndata: {\"a\":\ndata: \"é\"}\nid: 1/2\n\n";
        for size in 1..text.len() {
            let chunks: Vec<_> =
                text.as_bytes().chunks(size).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
            let mut events = Events::new(Body::from_stream(futures_util::stream::iter(chunks)));
            let first = events.next().await.unwrap();
            assert_eq!((first.id.as_deref(), first.data.as_str()), (Some("0"), ""));
            assert_eq!(events.next().await.unwrap().data, "", "a comment");
            let last = events.next().await.unwrap();
            assert_eq!((last.id.as_deref(), last.data.as_str()), (Some("1/2"), "{\"a\":\n\"é\"}"));
            assert!(events.next().await.is_none());
        }
    }
}
