//! An answer while it arrives: bytes of a stream, made into events, told to whoever knows the protocol.
//!
//! Pure. That a stream is whole the protocol says, never the end of the bytes.

use crate::drafts::Heard;
use crate::sse::{Event, EventReader};
use crate::{Error, Result};
use serde_json::Value;

/// Bytes of a whole stream. A provider wraps each token in some 300 bytes of its own, and none of them are kept, so
/// this is far more than the bound of the text.
pub(crate) const STREAM_MOST: usize = 64 * 1024 * 1024;

/// One protocol's way of reading an answer.
pub(crate) trait Answer: Send {
    fn event(&mut self, event: &Event, heard: Heard<'_>) -> Result<()>;
    /// The answer of a server that does not stream.
    fn at_once(&mut self, body: &Value, heard: Heard<'_>) -> Result<()>;
    /// Whether the closing event came, so that nothing more is waited for.
    fn is_over(&self) -> bool;
}

#[derive(Default)]
pub(crate) struct Listening {
    events: EventReader,
    bytes: usize,
}

impl Listening {
    pub(crate) fn hear(&mut self, bytes: &[u8], answer: &mut dyn Answer, heard: Heard<'_>) -> Result<()> {
        self.bytes += bytes.len();
        if self.bytes > STREAM_MOST {
            return Err(Error::TooLarge);
        }
        self.events.read(bytes, |event| if answer.is_over() { Ok(()) } else { answer.event(&event, &mut *heard) })
    }
}

/// An event's data, which both protocols write as one JSON object.
pub(crate) fn object(data: &str) -> Result<Value> {
    match serde_json::from_str(data) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err(Error::Garbled("an event is no JSON object")),
    }
}

/// A text field, empty if it is not there.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
