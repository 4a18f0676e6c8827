//! The HTML that Telegram understands, as strictly as Telegram takes it.

const TAGS: [&str; 15] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "a",
    "code",
    "pre",
    "span",
    "tg-spoiler",
    "blockquote",
];
const ENTITIES: [(&str, char); 4] = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];

/// The text without its tags, or what is wrong with it.
pub(super) fn text_of(html: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(letter) = rest.chars().next() {
        let at = html.len() - rest.len();
        if letter == '<' {
            let end = rest.find('>').ok_or_else(|| format!("Unclosed start tag at byte offset {at}"))?;
            tag(&rest[1..end], at, &mut open)?;
            rest = &rest[end + 1..];
        } else if let Some((name, letter)) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name)) {
            text.push(*letter);
            rest = &rest[name.len()..];
        } else {
            text.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    match open.pop() {
        None => Ok(text),
        Some(tag) => Err(format!("Can't find end tag corresponding to start tag \"{tag}\"")),
    }
}

fn tag(inner: &str, at: usize, open: &mut Vec<String>) -> Result<(), String> {
    if let Some(name) = inner.strip_prefix('/') {
        return match open.pop() {
            Some(begun) if begun == name => Ok(()),
            _ => Err(format!("Unexpected end tag at byte offset {at}")),
        };
    }
    let name = inner.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    if !TAGS.contains(&name.as_str()) {
        return Err(format!("Unsupported start tag \"{name}\" at byte offset {at}"));
    }
    open.push(name);
    Ok(())
}
