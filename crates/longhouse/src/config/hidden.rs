//! Characters that a model reads and a person does not see, written visibly.

/// Where something hidden was, counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) code: char,
}

/// The text with every hidden character written as `⟨U+200B⟩`, and where they were.
pub(crate) fn reveal(text: &str) -> (String, Vec<Hidden>) {
    let mut shown = String::with_capacity(text.len());
    let mut found = Vec::new();
    let (mut line, mut column) = (1, 1);
    for code in text.chars() {
        if is_hidden(code) {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(code)));
            found.push(Hidden { line, column, code });
        } else {
            shown.push(code);
        }
        (line, column) = if code == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    (shown, found)
}

fn is_hidden(code: char) -> bool {
    (code.is_control() && !matches!(code, '\n' | '\t' | '\r'))
        || matches!(code, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(code, '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}
