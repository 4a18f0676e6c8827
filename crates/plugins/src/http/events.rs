//! Server-sent events of a response, each bounded before it is put together.

use super::Fault;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

pub(super) fn stream(response: Response, most: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let begun = Some((response, Event { most, ..Event::default() }));
    let bytes = unfold(begun, |state| async move {
        let (mut response, mut event) = state?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(bytes)) if event.holds(&bytes) => Some((Ok(bytes), Some((response, event)))),
            Ok(Some(_)) => Some((Err(Fault::TooLarge(event.most)), None)),
            Err(error) => Some((Err(Fault::from(error)), None)),
        }
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// How much of an event has come: everything since the last blank line.
#[derive(Debug, Default)]
struct Event {
    most: usize,
    length: usize,
    line: usize,
}

impl Event {
    fn holds(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            self.length += 1;
            match byte {
                b'\r' => {}
                b'\n' if self.line == 0 => self.length = 0,
                b'\n' => self.line = 0,
                _ => self.line += 1,
            }
            if self.length > self.most {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_any_number_pass_and_one_that_is_too_long_does_not() {
        let event = || Event { most: 20, ..Event::default() };
        assert!(event().holds("data: 0123456789\n\n".repeat(100).as_bytes()));
        assert!(event().holds("data: 01234567\r\n\r\n".repeat(100).as_bytes()));
        assert!(!event().holds(b"data: 0123456789012345\n\n"));
        assert!(!event().holds("data: 1\n".repeat(100).as_bytes()));
        assert!(!event().holds(&[b'\r'; 100]));
        let mut slowly = event();
        assert!((0..20).all(|_| slowly.holds(b"x")) && !slowly.holds(b"x"));
    }
}
