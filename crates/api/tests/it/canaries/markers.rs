//! Markers: words that occur nowhere by chance, in every text that somebody might want to hide.

use std::collections::BTreeSet;

const PREFIX: &str = "zq";
const LENGTH: usize = 8;

/// What a marker is in.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Key,
    Value,
    Prompt,
}

impl Mark {
    fn letter(self) -> char {
        match self {
            Self::Key => 'k',
            Self::Value => 'v',
            Self::Prompt => 'p',
        }
    }
}

/// Gives out markers; none is given twice.
#[derive(Default)]
pub(super) struct Markers(u32);

impl Markers {
    /// `zq`, what it is in, whose it is, a number.
    pub(super) fn fresh(&mut self, mark: Mark, whose: char) -> String {
        self.0 += 1;
        assert!(self.0 < 10_000, "a number of four digits");
        format!("{PREFIX}{}{whose}{:04}", mark.letter(), self.0)
    }
}

/// Every marker in a text.
pub(super) fn found(text: &str) -> BTreeSet<String> {
    text.match_indices(PREFIX).filter_map(|(at, _)| text.get(at..at + LENGTH)).map(str::to_owned).collect()
}

/// Whether a text has the marker of some value.
pub(super) fn has_value(text: &str) -> bool {
    found(text).iter().any(|marker| marker.as_bytes()[PREFIX.len()] == b'v')
}
