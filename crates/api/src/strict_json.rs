//! JSON as it comes from outside: no key twice, no more than 64 levels, and errors that repeat nothing of it.

use domain::{Refusal, Result};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

const DEEPEST: usize = 64;
const TOO_DEEP: &str = "more than 64 levels deep";
const TWICE: &str = "a key twice in one object";

/// Reads bytes into a JSON value.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = Level(0).deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|error| {
        // Only our own words and the place go out: the parser's would quote what was sent.
        let text = error.to_string();
        let what = [TOO_DEEP, TWICE].into_iter().find(|known| text.contains(known));
        let (line, column) = (error.line(), error.column());
        let message = match what {
            Some(what) => format!("the body has {what}"),
            None => format!("the body is not JSON (line {line}, column {column})"),
        };
        Refusal::invalid(message).with("line", line).with("column", column)
    })
}

/// Turns a JSON value into what a door expects, naming the field that does not fit.
pub(crate) fn fit<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let (field, message) = describe(&path, &error.inner().to_string());
        Refusal::invalid_field(&field, message)
    })
}

/// Keeps what serde says about the shape and drops what it says about the content.
fn describe(path: &str, text: &str) -> (String, String) {
    let short = |name: &str| name.chars().take(64).collect::<String>();
    let within = |name: &str| if path == "." { short(name) } else { short(&format!("{path}.{name}")) };
    let quoted = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.split('`').next());
    if let Some(name) = quoted("unknown field `") {
        // The path already ends in the field's name.
        let field = if path == "." { short(name) } else { short(path) };
        return (field.clone(), format!("there is no field `{field}`"));
    }
    if let Some(name) = quoted("missing field `") {
        let field = within(name);
        return (field.clone(), format!("`{field}` is missing"));
    }
    let expected = text.rsplit_once("expected ").map_or("something else", |(_, expected)| expected);
    let field = if path == "." { "body".to_owned() } else { short(path) };
    (field.clone(), format!("`{field}` does not fit: expected {expected}"))
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
    fn down<E: Error>(&self) -> Result<usize, E> {
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
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Level(level))?;
            if found.insert(key, value).is_some() {
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
    fn bad_json_is_refused_without_quoting_it() {
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let very_deep = "[".repeat(100_000);
        let cases: [&[u8]; 9] = [
            b"",
            b"{",
            b"SECRET",
            br#"{"a": "SECRET", "a": 2}"#,
            br#"{"a": {"b": 1, "b": 2}}"#,
            br#"{"a": 1} SECRET"#,
            b"\xff\xfe",
            deep.as_bytes(),
            very_deep.as_bytes(),
        ];
        for bytes in cases {
            let refusal = parse(bytes).unwrap_err();
            assert!(!refusal.message.contains("SECRET"), "{}", refusal.message);
        }
        assert!(parse(br#"{"a": 1, "a": 2}"#).unwrap_err().message.contains("twice"));
        assert!(parse(deep.as_bytes()).unwrap_err().message.contains("64"));
    }

    #[test]
    fn a_field_that_does_not_fit_is_named_and_not_quoted() {
        let cases = [
            (r#"{"config": {"acl": "SECRET"}}"#, "config.acl"),
            (r#"{"config": {"max_value_tokens": -1}}"#, "config.max_value_tokens"),
            (r#"{"config": {"extra": 1}}"#, "config.extra"),
            (r#"{"extra": 1}"#, "extra"),
            (r#"{"config": {"token_counter": "SECRET"}}"#, "config.token_counter"),
            (r#"{"config": {"key_conventions": [{"key": "a"}]}}"#, "config.key_conventions[0].purpose"),
            (r#"["SECRET"]"#, "body"),
        ];
        for (text, field) in cases {
            let value = parse(text.as_bytes()).unwrap();
            let refusal = fit::<protocol::sessions::CreateSession>(value).unwrap_err();
            assert_eq!(refusal.details["field"], field, "{text}: {}", refusal.message);
            assert!(!refusal.message.contains("SECRET"), "{}", refusal.message);
        }
    }
}
