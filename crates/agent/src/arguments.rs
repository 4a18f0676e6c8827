//! Arguments of a call, read as strictly as a request from outside: one JSON object, no name twice, no more than 64
//! levels, nothing behind it. Two readers that understood the same text differently would be a way around a check.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

pub(crate) const LARGEST_BYTES: usize = 256 * 1024;
const DEEPEST: usize = 64;

const TOO_LARGE: &str = "its arguments are larger than 256 KiB";
const TOO_DEEP: &str = "its arguments are more than 64 levels deep";
const TWICE: &str = "its arguments have a name twice in one object";
const NOT_JSON: &str = "its arguments are not JSON";
const NOT_AN_OBJECT: &str = "its arguments are not a JSON object";

/// The object, or why there is none, in words that quote nothing of it.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, &'static str> {
    if text.len() > LARGEST_BYTES {
        return Err(TOO_LARGE);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = Level(0).deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    match parsed {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(NOT_AN_OBJECT),
        Err(error) => {
            let text = error.to_string();
            Err([TOO_DEEP, TWICE].into_iter().find(|known| text.starts_with(known)).unwrap_or(NOT_JSON))
        }
    }
}

/// A value so many levels down.
struct Level(usize);

impl Level {
    fn down<E: Error>(&self) -> Result<usize, E> {
        if self.0 < DEEPEST { Ok(self.0 + 1) } else { Err(E::custom(TOO_DEEP)) }
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
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

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
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

    fn nested(levels: usize) -> String {
        format!("{}0{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
    }

    #[test]
    fn an_object_is_read_as_it_is() {
        for text in [r#"{"a": [1, -2, 1.5, true, null, "ü\n"], "b": {"a": {}}}"#, " {} \n", &nested(64)] {
            assert_eq!(Value::Object(parse(text).unwrap()), serde_json::from_str::<Value>(text).unwrap());
        }
        let padding = " ".repeat(LARGEST_BYTES - 2);
        assert!(parse(&format!("{{}}{padding}")).is_ok());
        assert_eq!(parse(&format!("{{}}{padding} ")), Err(TOO_LARGE));
    }

    #[test]
    fn anything_else_is_refused_and_the_reason_said() {
        let cases = [
            ("", NOT_JSON),
            ("{", NOT_JSON),
            (r#"{"a": 1"#, NOT_JSON),
            (r#"{"a": 1}}"#, NOT_JSON),
            (r#"{"a": 1} {"a": 2}"#, NOT_JSON),
            ("{'a': 1}", NOT_JSON),
            (r#"{"a": 1e999}"#, NOT_JSON),
            (r#"{"a": NaN}"#, NOT_JSON),
            ("null", NOT_AN_OBJECT),
            ("[]", NOT_AN_OBJECT),
            (r#""{}""#, NOT_AN_OBJECT),
            (r#"{"a": 1, "a": 1}"#, TWICE),
            (r#"{"a": 1, "\u0061": 2}"#, TWICE),
            (r#"{"a": [{"b": 1, "b": 2}]}"#, TWICE),
            (&nested(65), TOO_DEEP),
            (&nested(40_000), TOO_DEEP),
        ];
        for (text, why) in cases {
            assert_eq!(parse(text), Err(why), "{}", &text[..text.len().min(40)]);
        }
    }
}
