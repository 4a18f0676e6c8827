//! JSON as it comes from outside, from callers and from models: no name twice in an object, no more than 64 levels, nothing
//! behind it. One reader for all: two that understood the same text differently would be a way around a check.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

const DEEPEST: usize = 64;
const TOO_DEEP: &str = "more than 64 levels deep";
const TWICE: &str = "a key twice in one object";

/// What is wrong with a text, without a word of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    TooDeep,
    Twice,
    NotJson,
}

/// Reads a text into a JSON value. A fault comes with its line and column.
pub fn parse(bytes: &[u8]) -> Result<Value, (Fault, usize, usize)> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = Level(0).deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|error| {
        // The parser's own words would quote what was sent.
        let (text, line, column) = (error.to_string(), error.line(), error.column());
        let known = [(TOO_DEEP, Fault::TooDeep), (TWICE, Fault::Twice)];
        let fault = known.into_iter().find(|(words, _)| text.starts_with(words)).map(|(_, fault)| fault);
        (fault.unwrap_or(Fault::NotJson), line, column)
    })
}

/// A value so many levels down.
struct Level(usize);

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Level {
    fn down<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.0 < DEEPEST { Ok(self.0 + 1) } else { Err(E::custom(TOO_DEEP)) }
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let level = self.down()?;
        let mut found = Vec::new();
        while let Some(item) = items.next_element_seed(Level(level))? {
            found.push(item);
        }
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let level = self.down()?;
        let mut found = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Level(level))?;
            if found.insert(name, value).is_some() {
                return Err(A::Error::custom(TWICE));
            }
        }
        Ok(Value::Object(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_json_is_read_as_it_is() {
        let text = r#"{"a": [1, -2, 1.5, true, null, "ü\n"], "b": {"a": {}}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert!(parse(format!("{}{}", "[".repeat(64), "]".repeat(64)).as_bytes()).is_ok());
    }

    #[test]
    fn anything_else_is_refused_and_the_reason_known() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let cases = [
            ("", Fault::NotJson),
            ("{", Fault::NotJson),
            (r#"{"a": 1}}"#, Fault::NotJson),
            (r#"{"a": 1} {"a": 2}"#, Fault::NotJson),
            ("{'a': 1}", Fault::NotJson),
            (r#"{"a": 1e999}"#, Fault::NotJson),
            (r#"{"a": NaN}"#, Fault::NotJson),
            (r#"{"more than 64 levels deep": x}"#, Fault::NotJson),
            (r#"{"a": 1, "a": 1}"#, Fault::Twice),
            (r#"{"a": 1, "\u0061": 2}"#, Fault::Twice),
            (r#"{"a": [{"b": 1, "b": 2}]}"#, Fault::Twice),
            (&nested(65), Fault::TooDeep),
            (&nested(40_000), Fault::TooDeep),
        ];
        for (text, fault) in cases {
            assert_eq!(parse(text.as_bytes()).unwrap_err().0, fault, "{}", &text[..text.len().min(40)]);
        }
        assert_eq!(parse(b"\xff\xfe").unwrap_err().0, Fault::NotJson);
        assert_eq!(parse(b"{\n  x").unwrap_err(), (Fault::NotJson, 2, 3));
    }
}
