//! Markdown as the HTML that Telegram understands.
//!
//! Whatever the text is, tags are opened and closed in pairs and everything else is escaped; what looks unfinished stays
//! as it was written. No tag has an attribute made of text but the language of code, which is one plain word. Nothing gets
//! longer for the reader, so a text that fits as Markdown fits.

use domain::channels::{Fence, fence_of, is_end_of};

/// Tags within tags. Deeper ones are shown as they were written.
const DEPTH_MOST: usize = 4;

/// What stands on both sides of words, and the tag for it. Longer marks first.
const MARKS: [(&str, &str); 6] = [("***", "b"), ("**", "b"), ("__", "b"), ("~~", "s"), ("*", "i"), ("_", "i")];

pub(super) fn html(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len() + 64);
    let mut lines = markdown.split('\n').peekable();
    while let Some(line) = lines.next() {
        match fence_of(line) {
            Some(fence) => code_block(fence, &mut lines, &mut out),
            None => text_line(line, &mut out),
        }
        if lines.peek().is_some() {
            out.push('\n');
        }
    }
    out
}

/// Up to the end of the block, or of the text.
fn code_block<'t>(fence: Fence<'t>, lines: &mut impl Iterator<Item = &'t str>, out: &mut String) {
    let code: Vec<&str> = lines.take_while(|line| !is_end_of(fence, line)).collect();
    let word = fence.language.split_whitespace().next().unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'#' | b'_' | b'.');
    let language = Some(word).filter(|word| !word.is_empty() && word.bytes().all(is_plain));
    let code = escaped(&code.join("\n"));
    match language {
        Some(language) => out.push_str(&format!("<pre><code class=\"language-{language}\">{code}</code></pre>")),
        None => out.push_str(&format!("<pre>{code}</pre>")),
    }
}

fn text_line(line: &str, out: &mut String) {
    let heading = line.trim_start_matches('#');
    let level = line.len() - heading.len();
    match heading.strip_prefix(' ') {
        Some(heading) if (1..=6).contains(&level) && !heading.trim().is_empty() => {
            out.push_str("<b>");
            // Bold within bold would be the same tag twice.
            inline(&heading.trim().replace("**", ""), 1, out);
            out.push_str("</b>");
        }
        _ => inline(line, 0, out),
    }
}

/// Words of one line: each mark with its counterpart becomes a tag around what is between.
fn inline(text: &str, depth: usize, out: &mut String) {
    let mut rest = text;
    let mut before = None;
    while let Some(letter) = rest.chars().next() {
        let taken = code(rest, out).or_else(|| link(rest, out)).or_else(|| marked(rest, before, depth, out));
        let taken = taken.unwrap_or_else(|| {
            escape(letter, out);
            letter.len_utf8()
        });
        before = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
}

/// `` `code` ``: how many bytes it takes.
fn code(text: &str, out: &mut String) -> Option<usize> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let mark = text.get(..ticks).filter(|mark| !mark.is_empty())?;
    let end = text[ticks..].find(mark).filter(|end| *end > 0)?;
    out.push_str(&format!("<code>{}</code>", escaped(&text[ticks..ticks + end])));
    Some(ticks + end + ticks)
}

/// `[words](address)` becomes `words (address)`: a reader sees where it leads.
fn link(text: &str, out: &mut String) -> Option<usize> {
    let (words, after) = text.strip_prefix('[')?.split_once("](")?;
    let (address, _) = after.split_once(')')?;
    let is_link = ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme));
    if !is_link || words.contains(['[', ']']) || address.contains(char::is_whitespace) {
        return None;
    }
    let shown = if words == address { escaped(address) } else { format!("{} ({})", escaped(words), escaped(address)) };
    out.push_str(&shown);
    Some(words.len() + address.len() + 4)
}

fn marked(text: &str, before: Option<char>, depth: usize, out: &mut String) -> Option<usize> {
    let (mark, tag) = MARKS.iter().find(|(mark, _)| text.starts_with(mark))?;
    let inner = &text[mark.len()..];
    let end = inner.find(mark).filter(|end| *end > 0)?;
    let words = &inner[..end];
    let after = inner[end + mark.len()..].chars().next();
    // In `snake_case_name` and `2 * 3 * 4` nothing is meant.
    let is_tight = !words.starts_with(char::is_whitespace) && !words.ends_with(char::is_whitespace);
    let is_within_word =
        mark.starts_with('_') && [before, after].iter().flatten().any(|letter| letter.is_alphanumeric());
    let is_mark_again = after.is_some_and(|letter| mark.starts_with(letter));
    if depth >= DEPTH_MOST || !is_tight || is_within_word || is_mark_again {
        return None;
    }
    out.push_str(&format!("<{tag}>"));
    inline(words, depth + 1, out);
    out.push_str(&format!("</{tag}>"));
    Some(mark.len() + end + mark.len())
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|letter| escape(letter, &mut out));
    out
}

fn escape(letter: char, out: &mut String) {
    match letter {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        // Telegram takes no other controls.
        '\n' | '\t' => out.push(letter),
        letter if letter.is_control() => {}
        letter => out.push(letter),
    }
}

#[cfg(test)]
mod tests;
