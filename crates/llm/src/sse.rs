//! Server-sent events, read from bytes that may be cut anywhere.
//!
//! Pure: bytes in, events out. One event is bounded; what no blank line closes is never handed on. Fields that neither
//! protocol uses (`id`, `retry`) are passed over.

use crate::{Error, Result};

/// Lines of one event together, in bytes.
pub(crate) const EVENT_MOST: usize = 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Empty where the server gave none.
    pub(crate) name: String,
    pub(crate) data: String,
}

#[derive(Debug, Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// A line feed right after a carriage return belongs to it.
    after_carriage_return: bool,
    has_begun: bool,
}

impl EventReader {
    /// Reads what arrived, and hands on each event that it completes.
    pub(crate) fn read(&mut self, bytes: &[u8], mut each: impl FnMut(Event) -> Result<()>) -> Result<()> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (part, after) = rest.split_at(end);
            let closes_a_pair = rest[end] == b'\n' && part.is_empty() && self.after_carriage_return;
            self.after_carriage_return = rest[end] == b'\r';
            rest = &after[1..];
            if closes_a_pair {
                continue;
            }
            self.keep(part)?;
            if let Some(event) = self.end_line()? {
                each(event)?;
            }
        }
        if !rest.is_empty() {
            self.after_carriage_return = false;
        }
        self.keep(rest)
    }

    fn keep(&mut self, part: &[u8]) -> Result<()> {
        if self.line.len() + self.event.data.len() + part.len() > EVENT_MOST {
            return Err(Error::TooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Event>> {
        let line = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let text = std::str::from_utf8(&line).map_err(|_| Error::Garbled("it is not UTF-8"))?;
        let text = if is_first { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let event = if text.is_empty() { self.end_event() } else { None };
        self.read_field(text);
        // The line's room is used again for the next one.
        self.line = line;
        self.line.clear();
        Ok(event)
    }

    fn end_event(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }

    fn read_field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>> {
        let mut reader = EventReader::default();
        let mut found = Vec::new();
        for piece in pieces {
            reader.read(piece, |event| {
                found.push((event.name, event.data));
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn events(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect()
    }

    #[test]
    fn events_are_read_whatever_ends_their_lines() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("data: a\n\n", &[("", "a")]),
            ("data: a\r\n\r\n", &[("", "a")]),
            ("data: a\r\r", &[("", "a")]),
            ("data:a\n\ndata:  b\n\n", &[("", "a"), ("", " b")]),
            ("\u{feff}data: a\n\n", &[("", "a")]),
            ("event: x\ndata: a\ndata: b\n\n", &[("x", "a\nb")]),
            ("event: x\r\ndata: a\r\ndata\r\n\r\ndata: c\r\n\r\n", &[("x", "a\n"), ("", "c")]),
            (": a comment\n\n: and more\ndata: a\nid: 7\nretry: 1\nunknown\n\n", &[("", "a")]),
            ("event: alone\n\ndata: b\n\n", &[("", "b")]),
            ("data: never closed\n", &[]),
            ("data: never closed", &[]),
            ("\n\n\n", &[]),
            ("data: ä€😀\n\n", &[("", "ä€😀")]),
        ];
        for (stream, expected) in cases {
            let bytes = stream.as_bytes();
            assert_eq!(read(&[bytes]).unwrap(), events(expected), "{stream:?}");
            for cut in 0..=bytes.len() {
                let (left, right) = bytes.split_at(cut);
                assert_eq!(read(&[left, right]).unwrap(), events(expected), "{stream:?} cut at {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single).unwrap(), events(expected), "{stream:?} byte by byte");
        }
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(Error::Garbled("it is not UTF-8")));
        assert_eq!(read(&[b"data: \xe2\x82\n\n"]), Err(Error::Garbled("it is not UTF-8")));
    }

    #[test]
    fn an_event_has_a_bound_however_it_grows() {
        let long = vec![b'a'; EVENT_MOST + 1];
        assert_eq!(read(&[&long]), Err(Error::TooLarge));
        assert_eq!(read(&[&long[..EVENT_MOST / 2], &long[EVENT_MOST / 2..]]), Err(Error::TooLarge));
        let line = format!("data: {}\n", "a".repeat(EVENT_MOST / 3));
        assert_eq!(read(&[line.repeat(4).as_bytes()]), Err(Error::TooLarge));
        let fits = format!("data: {}\n\n", "a".repeat(EVENT_MOST - 8));
        assert_eq!(read(&[fits.repeat(3).as_bytes()]).unwrap().len(), 3);
    }
}
