//! What a model is shown of a plugin's tools: the plugin's words with everything hidden written out, and no more of them than
//! anybody reads.

use crate::skills::{hidden, reveal};
use serde_json::{Map, Value};

pub const DESCRIPTION_LONGEST_CHARACTERS: usize = 2048;
/// Of a schema as it is shown, in JSON.
pub const SCHEMA_LARGEST_BYTES: usize = 16 * 1024;
const SCHEMA_DEEPEST: usize = 32;

/// Text of others, visible and bounded. A cut is told.
pub fn shown_text(text: &str, most_characters: usize) -> String {
    // A character that is written out becomes up to nine: cutting first keeps the work in proportion.
    let (shown, _) = reveal(&cut(text, most_characters));
    cut(&shown, most_characters)
}

fn cut(text: &str, most_characters: usize) -> String {
    match text.char_indices().nth(most_characters) {
        None => text.to_owned(),
        Some(_) => {
            let mut cut: String = text.chars().take(most_characters.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
    }
}

/// Why a schema is not shown, and so its tool not offered: a model that sees half of a schema calls wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unshowable {
    TooLarge,
    /// The name of a parameter has characters that nobody sees; written out it would be another name.
    HiddenName,
}

pub(super) fn shown_schema(schema: &Map<String, Value>) -> Result<Map<String, Value>, Unshowable> {
    let shown = visible_object(schema, SCHEMA_DEEPEST)?;
    let bytes = serde_json::to_vec(&shown).map_or(usize::MAX, |json| json.len());
    if bytes > SCHEMA_LARGEST_BYTES { Err(Unshowable::TooLarge) } else { Ok(shown) }
}

fn visible_object(map: &Map<String, Value>, deeper: usize) -> Result<Map<String, Value>, Unshowable> {
    let entry = |(name, value): (&String, &Value)| {
        if name.chars().any(hidden::is_hidden) {
            return Err(Unshowable::HiddenName);
        }
        Ok((name.clone(), visible(value, deeper)?))
    };
    map.iter().map(entry).collect()
}

fn visible(value: &Value, deeper: usize) -> Result<Value, Unshowable> {
    let below = || deeper.checked_sub(1).ok_or(Unshowable::TooLarge);
    match value {
        Value::String(text) => Ok(Value::String(reveal(text).0)),
        Value::Array(items) => {
            let below = below()?;
            items.iter().map(|item| visible(item, below)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(map) => visible_object(map, below()?).map(Value::Object),
        plain => Ok(plain.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(schema: &Value) -> Result<Value, Unshowable> {
        shown_schema(schema.as_object().unwrap()).map(Value::Object)
    }

    #[test]
    fn descriptions_are_shown_whole_or_with_a_mark_where_they_were_cut() {
        for (text, most, expected) in [
            ("plain", 5, "plain"),
            ("plain", 4, "pla…"),
            ("größer", 6, "größer"),
            ("größer", 5, "größ…"),
            ("a\u{200b}b", 20, "a⟨U+200B⟩b"),
            ("a\u{200b}b", 6, "a⟨U+2…"),
            ("", 3, ""),
            ("\u{202e}evil", 30, "⟨U+202E⟩evil"),
        ] {
            assert_eq!(shown_text(text, most), expected, "{text:?} {most}");
        }
        let long = shown_text(&"\u{e0041}".repeat(1_000_000), DESCRIPTION_LONGEST_CHARACTERS);
        assert_eq!(long.chars().count(), DESCRIPTION_LONGEST_CHARACTERS);
    }

    #[test]
    fn what_a_schema_hides_in_its_texts_comes_to_light() {
        let schema =
            json!({"type": "object", "properties": {"q": {"description": "a\u{200b}", "enum": ["\u{202e}x"]}}});
        let expected =
            json!({"type": "object", "properties": {"q": {"description": "a⟨U+200B⟩", "enum": ["⟨U+202E⟩x"]}}});
        assert_eq!(shown(&schema), Ok(expected));
    }

    #[test]
    fn a_schema_that_cannot_be_shown_whole_is_not_shown() {
        assert_eq!(shown(&json!({"properties": {"q\u{200b}": {}}})), Err(Unshowable::HiddenName));
        assert_eq!(shown(&json!({"description": "x".repeat(SCHEMA_LARGEST_BYTES)})), Err(Unshowable::TooLarge));
        let mut deep = json!({});
        for _ in 0..SCHEMA_DEEPEST {
            deep = json!({ "a": deep });
        }
        assert!(shown(&deep).is_ok());
        assert_eq!(shown(&json!({ "a": deep })), Err(Unshowable::TooLarge));
    }
}
