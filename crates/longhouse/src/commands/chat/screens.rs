//! What is shown: answers on standard output, everything else on standard error. Whatever an agent or a provider wrote
//! has its control characters written out first, in a pipe too: it often ends in a terminal.

use crate::output::{self, visible};
use serde_json::Value;
use std::io::{IsTerminal, Write};

/// Characters of a tool's arguments.
const ARGUMENTS_MOST: usize = 80;
const DIM: &str = "\u{1b}[2m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

pub(super) struct Screen {
    is_json: bool,
    has_colour: bool,
    /// Whether something stands in the line that standard output is at.
    is_in_line: bool,
}

impl Screen {
    pub(super) fn new(is_json: bool) -> Self {
        let is_set = |name, value: fn(&str) -> bool| std::env::var(name).is_ok_and(|text| value(&text));
        let is_plain = is_set("NO_COLOR", |text| !text.is_empty()) || is_set("TERM", |text| text == "dumb");
        let has_colour = std::io::stderr().is_terminal() && !is_plain;
        Self { is_json, has_colour, is_in_line: false }
    }

    pub(super) fn is_json(&self) -> bool {
        self.is_json
    }

    /// A piece of an answer, at once.
    pub(super) fn answer(&mut self, text: &str) {
        if self.is_json || text.is_empty() {
            return;
        }
        // Who has stopped reading needs no answer.
        let _ = output::write(visible(text).as_bytes());
        self.is_in_line = !text.ends_with('\n');
    }

    pub(super) fn end_line(&mut self) {
        if self.is_in_line {
            let _ = output::write(b"\n");
            self.is_in_line = false;
        }
    }

    /// A call of a tool, on one line.
    pub(super) fn tool(&mut self, call: &Value) {
        let text = |name: &str| call[name].as_str().unwrap_or_default();
        let arguments = text("arguments").split_whitespace().collect::<Vec<_>>().join(" ");
        let ending = if call["is_error"] == true { "  (refused)" } else { "" };
        self.note(&format!("tool  {} {}{ending}", text("tool"), shortened(&arguments)));
    }

    /// Something beside the answer.
    pub(super) fn note(&mut self, text: &str) {
        if !self.is_json {
            self.aside(DIM, text);
        }
    }

    pub(super) fn problem(&mut self, text: &str) {
        self.aside(RED, text);
    }

    fn aside(&mut self, colour: &str, text: &str) {
        self.end_line();
        for line in visible(text).lines() {
            let (begin, end) = if self.has_colour { (colour, PLAIN) } else { ("", "") };
            let _ = writeln!(std::io::stderr(), "{begin}  {line}{end}");
        }
    }

    /// Asks for a line, and repeats it if it was typed before its turn.
    pub(super) fn prompt(&mut self, ahead: Option<&str>) {
        self.end_line();
        let mut out = std::io::stderr();
        let _ = match ahead {
            None => write!(out, "> "),
            Some(line) => writeln!(out, "> {}", visible(line.trim())),
        };
        let _ = out.flush();
    }

    /// The line of a prompt that nothing was typed at.
    pub(super) fn end_prompt(&mut self, was_shown: bool) {
        if was_shown {
            let _ = writeln!(std::io::stderr());
        }
    }

    /// One line of JSON.
    pub(super) fn json(&mut self, value: &Value) {
        let _ = output::write(format!("{}\n", output::plain_json(value)).as_bytes());
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(ARGUMENTS_MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
