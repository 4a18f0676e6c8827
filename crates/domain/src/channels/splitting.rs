//! Long texts in parts that a channel takes, cut where a reader would cut: between paragraphs, else lines, else words.
//!
//! No part is longer than the limit, no character is cut, nothing but white space at the cuts is lost, and a block of code
//! that is cut is closed and opened again, so that each part reads by itself.

use super::fences::{Fence, MARKER_LONGEST, fence_of, is_end_of};
use unicode_segmentation::UnicodeSegmentation;

/// Less is no message. A closed and opened fence must fit beside some text.
const LIMIT_LEAST: usize = 256;

/// What Telegram counts; no other way of counting finds more.
pub fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The parts of a text, in order; none if there is nothing to read in it. `most` is in UTF-16 code units.
pub fn split(text: &str, most: usize) -> Vec<String> {
    let most = most.max(LIMIT_LEAST);
    let mut parts = Vec::new();
    let mut rest = text.trim_end();
    let mut open: Option<Fence<'_>> = None;
    while !rest.trim().is_empty() {
        let head = open.map(|fence| format!("{}{}\n", fence.marker, fence.language)).unwrap_or_default();
        if utf16_length(&head) + utf16_length(rest) <= most {
            parts.push(format!("{head}{rest}"));
            break;
        }
        let cut = best_cut(rest, open, most - utf16_length(&head));
        let (part, after) = rest.split_at(cut.at);
        let body = if cut.open.is_some() { part.strip_suffix('\n').unwrap_or(part) } else { part.trim_end() };
        let tail = cut.open.map(|fence| format!("\n{}", fence.marker)).unwrap_or_default();
        if !body.trim().is_empty() {
            parts.push(format!("{head}{body}{tail}"));
        }
        open = cut.open;
        rest = if open.is_some() || cut.is_in_line { after } else { after.trim_start_matches(['\n', '\r']) };
    }
    parts
}

/// A place to cut, and the block of code that is open there.
#[derive(Clone, Copy)]
struct Cut<'t> {
    at: usize,
    open: Option<Fence<'t>>,
    /// In the middle of a line, where white space may matter to what follows.
    is_in_line: bool,
}

/// The best place within `room`. Paragraphs and lines count only where they leave no part nearly empty.
fn best_cut<'t>(text: &'t str, open: Option<Fence<'t>>, room: usize) -> Cut<'t> {
    let longest = fitting(text, room);
    // What is open at a cut needs room for closing it.
    let longest_open = fitting(text, room - MARKER_LONGEST - 1);
    let least = longest / 3;
    let mut seen = Seen { open, ..Seen::default() };
    let mut begun = 0;
    for line in text.split_inclusive('\n') {
        let end = begun + line.len();
        seen.pass(line, begun, end, least);
        if end > longest || !line.ends_with('\n') {
            break;
        }
        let fits = seen.open.is_none() || end <= longest_open;
        if fits && end > least {
            seen.line = Some(Cut { at: end, open: seen.open, is_in_line: false });
        }
        begun = end;
    }
    seen.paragraph.or(seen.line).unwrap_or_else(|| {
        let room = if seen.before.is_some() { longest_open } else { longest };
        within(text, begun, room, seen.before)
    })
}

/// What was passed on the way to the end of the room.
#[derive(Default)]
struct Seen<'t> {
    /// After the line that was passed last.
    open: Option<Fence<'t>>,
    /// Before it.
    before: Option<Fence<'t>>,
    paragraph: Option<Cut<'t>>,
    line: Option<Cut<'t>>,
}

impl<'t> Seen<'t> {
    fn pass(&mut self, line: &'t str, begun: usize, end: usize, least: usize) {
        self.before = self.open;
        let words = line.trim_end_matches(['\n', '\r']);
        let mut boundary = None;
        match self.open {
            Some(fence) if is_end_of(fence, words) => self.open = None,
            Some(_) => {}
            None => {
                self.open = fence_of(words);
                // Code is kept whole where it can be: the cut is before it.
                boundary = (self.open.is_some() || words.trim().is_empty()).then_some(begun);
            }
        }
        if let Some(at) = boundary.filter(|at| *at > least && *at < end) {
            self.paragraph = Some(Cut { at, open: None, is_in_line: false });
        }
    }
}

/// A cut in a line that is too long: after a word, else between two characters.
fn within<'t>(text: &'t str, begun: usize, room: usize, open: Option<Fence<'t>>) -> Cut<'t> {
    let from = begun.min(room);
    let after_word = text[from..room].rfind(char::is_whitespace).map(|at| from + at).filter(|at| *at > room / 3);
    let at = match after_word {
        // The white space itself opens the next part, where it is trimmed away or seen.
        Some(at) => at + text[at..].chars().next().map_or(1, char::len_utf8),
        None => between_characters(text, room),
    };
    Cut { at, open, is_in_line: true }
}

/// What a reader takes for one character is kept whole, unless it alone is longer than the room.
fn between_characters(text: &str, room: usize) -> usize {
    let mut at = 0;
    for (begin, character) in text.grapheme_indices(true) {
        if begin + character.len() > room {
            break;
        }
        at = begin + character.len();
    }
    if at > 0 {
        return at;
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    room.max(first)
}

/// How many bytes of the text have no more than so many UTF-16 code units.
fn fitting(text: &str, units: usize) -> usize {
    let mut left = units;
    for (at, letter) in text.char_indices() {
        if letter.len_utf16() > left {
            return at;
        }
        left -= letter.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests;
