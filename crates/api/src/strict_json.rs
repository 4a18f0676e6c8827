//! Bodies made into what a door expects, with errors that repeat nothing of them.

use domain::strict_json::{self, Fault};
use domain::{Refusal, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads bytes into a JSON value.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value> {
    strict_json::parse(bytes).map_err(|(fault, line, column)| {
        let message = match fault {
            Fault::TooDeep => "the body has more than 64 levels".to_owned(),
            Fault::Twice => "the body has a key twice in one object".to_owned(),
            Fault::NotJson => format!("the body is not JSON (line {line}, column {column})"),
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

#[cfg(test)]
mod tests {
    use super::*;

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
