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

fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' && c != '\t' { safe.extend(c.escape_default()) } else { safe.push(c) }
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
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(table(&["a", "long"], &[vec!["xyz".into(), "1".into()]]), "a    long\nxyz  1\n");
    }
}
