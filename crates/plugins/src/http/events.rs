//! Server-sent events of a response, each bounded before it is put together.

use super::Fault;
use crate::weights::Weight;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

pub(super) fn stream(response: Response, most: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let begun = Some((response, Event::new(most)));
    let bytes = unfold(begun, |state| async move {
        let (mut response, mut event) = state?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(bytes)) if event.bears(&bytes) => Some((Ok(bytes), Some((response, event)))),
            Ok(Some(_)) => Some((Err(Fault::TooLarge), None)),
            Err(error) => Some((Err(Fault::from(error)), None)),
        }
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// What has come of an event: everything since the last blank line.
struct Event {
    weight: Weight,
    is_line_empty: bool,
}

impl Event {
    fn new(most: usize) -> Self {
        Self { weight: Weight::new(most), is_line_empty: true }
    }

    fn bears(&mut self, bytes: &[u8]) -> bool {
        bytes.split_inclusive(|byte| *byte == b'\n').all(|part| self.bears_part(part))
    }

    /// At most one line, of which this may be the end.
    fn bears_part(&mut self, part: &[u8]) -> bool {
        let (is_end, text) = (part.ends_with(b"\n"), part.trim_ascii_end());
        self.is_line_empty &= text.is_empty();
        let bears = self.weight.bears(part);
        if is_end && std::mem::replace(&mut self.is_line_empty, true) {
            self.weight.reset();
        }
        bears
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_any_number_pass_and_one_that_is_too_long_does_not() {
        let event = || Event::new(20);
        assert!(event().bears("data: 0123456789\n\n".repeat(100).as_bytes()));
        assert!(event().bears("data: 01234567\r\n\r\n".repeat(100).as_bytes()));
        assert!(!event().bears(b"data: 0123456789012345\n\n"));
        assert!(!event().bears("data: 1\n".repeat(100).as_bytes()));
        assert!(!event().bears(&[b'\r'; 100]));
        let mut slowly = event();
        assert!((0..20).all(|_| slowly.bears(b"x")) && !slowly.bears(b"x"));
    }

    #[test]
    fn an_event_of_too_many_values_does_not_pass_either() {
        let mut event = Event::new(10_000_000);
        assert!(!event.bears(format!("data: [{}0]\n\n", "0,".repeat(200_000)).as_bytes()));
    }
}
