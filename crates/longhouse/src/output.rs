//! What is printed: plain text for people, JSON for programs.

use anyhow::{Context, Result};
use serde_json::Value;
use std::io::{IsTerminal, Write};

/// Prints an answer: as JSON, or as `human` puts it.
pub(crate) fn print(json: bool, answer: &Value, human: impl FnOnce(&Value) -> String) -> Result<()> {
    let text = if json { format!("{answer:#}") } else { shown(&human(answer)) };
    write(format!("{}\n", text.trim_end_matches('\n')).as_bytes())
}

/// Writes to standard output. A reader that has gone away (`| head`) is not an error; a full disk is.
pub(crate) fn write(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("the answer could not be written")
        }
        _ => Ok(()),
    }
}

/// Says something on standard error. Nobody may be listening any more: that must not end us, as `eprintln!` would.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "longhouse: {text}");
}

/// An error with its causes, each said once.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// One line, at once.
pub(crate) fn line(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", shown(text)).and_then(|()| out.flush()).is_ok()
}

/// Values are written by agents. On a terminal their control characters must not act.
fn shown(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    visible(text)
}

/// The text with everything written out that a terminal would obey, or that would make it show the rest in another order
/// or not at all. The line's end of other systems is one of ours.
pub(crate) fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\t' => safe.push(c),
            _ if acts(c) => safe.extend(c.escape_default()),
            _ => safe.push(c),
        }
    }
    safe
}

/// Controls of both kinds, separators of lines, what turns the direction, and invisible tags.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// JSON on one line, in which no character acts: strings have them as escapes.
pub(crate) fn plain_json(value: &Value) -> String {
    let mut safe = String::new();
    for c in value.to_string().chars() {
        if acts(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Rows under a header, in columns as wide as their widest cell.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&mut header.iter().copied());
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// A field as text, whatever it is.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A list of texts on one line.
pub(crate) fn texts(list: &Value) -> String {
    let texts: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(" ") }
}

/// A table of some fields of a list.
pub(crate) fn items(list: &Value, fields: &[&str]) -> String {
    let rows: Vec<Vec<String>> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| fields.iter().map(|field| cell(&item[*field])).collect())
        .collect();
    if rows.is_empty() { "none\n".to_owned() } else { table(fields, &rows) }
}

/// Some fields of one thing, a line for each.
pub(crate) fn facts(thing: &Value, fields: &[&str]) -> String {
    let width = fields.iter().map(|field| field.len()).max().unwrap_or_default();
    fields.iter().map(|field| format!("{field:<width$}  {}\n", cell(&thing[*field]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\td"), "a\\u{1b}[2Jb\nc\td");
        assert_eq!(visible("a\r\nb\rc\u{9b}31m\u{7f}"), "a\nb\\rc\\u{9b}31m\\u{7f}");
        assert_eq!(visible("\u{202e}cba\u{2069}\u{e0041}"), "\\u{202e}cba\\u{2069}\\u{e0041}");
        let plain = "👩\u{200d}💻 ☀\u{fe0f} می\u{200c}خواهم “é”\n";
        assert_eq!(visible(plain), plain);
    }

    #[test]
    fn json_says_the_same_with_nothing_in_it_that_acts() {
        let value = serde_json::json!({"a": "\u{1b}[2J\u{9b}\u{7f}\r\n\u{202e}\u{e0041}é\"\\"});
        let text = plain_json(&value);
        assert!(!text.chars().any(acts), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(table(&["a", "long"], &[vec!["xyz".into(), "1".into()]]), "a    long\nxyz  1\n");
    }
}
