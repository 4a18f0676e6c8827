//! Replacing one text by another: exactly one occurrence, or nothing.

use crate::{Error, Result};

pub(crate) fn edited(text: &str, old: &str, new: &str) -> Result<String> {
    if old.is_empty() {
        return Err(Error::InvalidArgument("the text to replace is empty"));
    }
    if old == new {
        return Err(Error::InvalidArgument("the new text is the old one"));
    }
    let at = text.find(old).ok_or(Error::NoMatch)?;
    // Occurrences may overlap: `aa` occurs twice in `aaa`, and neither is meant more than the other.
    let next = at + text[at..].chars().next().map_or(1, char::len_utf8);
    if text[next..].contains(old) {
        return Err(Error::ManyMatches);
    }
    Ok([&text[..at], new, &text[at + old.len()..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_occurrence_is_replaced_and_none_or_several_are_refused() {
        assert_eq!(edited("a b c", "b", "é").unwrap(), "a é c");
        assert_eq!(edited("über", "ü", "").unwrap(), "ber");
        for (text, old, new, code) in [
            ("a b c", "d", "x", "NO_MATCH"),
            ("a b a", "a", "x", "MANY_MATCHES"),
            ("aaa", "aa", "x", "MANY_MATCHES"),
            ("üüü", "üü", "x", "MANY_MATCHES"),
            ("a", "", "x", "INVALID_ARGUMENT"),
            ("a", "a", "a", "INVALID_ARGUMENT"),
        ] {
            assert_eq!(edited(text, old, new).unwrap_err().code(), code, "{old} in {text}");
        }
    }
}
