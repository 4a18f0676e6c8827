//! What a message would cost, known before it is parsed: a few bytes of JSON can stand for a value of a hundred.

/// Names, numbers and brackets of one message. Far more than any list of tools has, and no burden yet.
const VALUES_MOST: usize = 100_000;

/// Of one message, as its bytes arrive.
#[derive(Debug, Clone)]
pub(crate) struct Weight {
    most_bytes: usize,
    bytes: usize,
    values: usize,
    is_in_text: bool,
    is_escaped: bool,
}

impl Weight {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { most_bytes, bytes: 0, values: 0, is_in_text: false, is_escaped: false }
    }

    /// For the next message.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.most_bytes);
    }

    /// Whether the message may still be taken with these bytes.
    pub(crate) fn bears(&mut self, bytes: &[u8]) -> bool {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > self.most_bytes {
            return false;
        }
        for byte in bytes {
            self.take(*byte);
        }
        self.values <= VALUES_MOST
    }

    fn take(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_in_text => self.is_escaped = true,
            b'"' => self.is_in_text = !self.is_in_text,
            // No text of JSON goes over the end of a line: whatever was opened before it was none.
            b'\n' | b'\r' => self.is_in_text = false,
            b',' | b'[' | b'{' | b':' if !self.is_in_text => self.values += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bears(text: &str) -> bool {
        Weight::new(10_000_000).bears(text.as_bytes())
    }

    #[test]
    fn values_are_counted_and_what_is_inside_texts_is_not() {
        assert!(bears(&format!("[{}0]", "0,".repeat(VALUES_MOST - 1))));
        assert!(!bears(&format!("[{}0]", "0,".repeat(VALUES_MOST))));
        assert!(!bears(&"[".repeat(VALUES_MOST + 1)));
        assert!(!bears(&r#"{"a":1},"#.repeat(VALUES_MOST / 2)));
        assert!(bears(&format!("[\"{}\"]", "0,".repeat(1_000_000))));
        assert!(bears(&format!("[\"{}\"]", "\\\",".repeat(1_000_000))), "a quote that is escaped ends no text");
        assert!(!bears(&format!("[\"\\\\\", {}0]", "0,".repeat(VALUES_MOST))), "one that is not does");
        assert!(
            !bears(&format!(":\"\ndata: [{}0]", "0,".repeat(VALUES_MOST))),
            "a quote before the line opens nothing"
        );
    }

    #[test]
    fn bytes_are_counted_wherever_they_are_cut_and_anew_for_each_message() {
        let mut weight = Weight::new(10);
        assert!(weight.bears(b"01234") && weight.bears(b"56789") && !weight.bears(b"x"));
        weight.reset();
        assert!(weight.bears(b"0123456789"));
    }
}
