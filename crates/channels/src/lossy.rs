//! Text of a JSON document that may hold half a surrogate pair: providers pass on what clients send. One broken character
//! is shown as such; it must not make a message unreadable, or it would be offered for ever.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) String);

struct AnyText;

impl Visitor<'_> for AnyText {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
        Ok(Text(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(AnyText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_shown_as_broken() {
        let read = |json: &str| serde_json::from_str::<Text>(json).map(|text| text.0);
        assert_eq!(read(r#""ab\ud83d\ude00""#).unwrap(), "ab😀");
        for broken in [r#""a\ud800b""#, r#""a\udc00b""#, r#""a\ud800\ud800b""#] {
            let text = read(broken).unwrap();
            assert!(text.starts_with("a\u{fffd}") && text.ends_with('b'), "{text}");
        }
        assert!(read("5").is_err() && read("[1, 2]").is_err() && read("null").is_err());
    }
}
