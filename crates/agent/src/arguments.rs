//! Arguments of a call, read as strictly as a request from outside: one JSON object of bounded size.

use domain::strict_json::{self, Fault};
use serde_json::{Map, Value};

pub(crate) const LARGEST_BYTES: usize = 256 * 1024;

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
    match strict_json::parse(text.as_bytes()) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(NOT_AN_OBJECT),
        Err((Fault::TooDeep, ..)) => Err(TOO_DEEP),
        Err((Fault::Twice, ..)) => Err(TWICE),
        Err((Fault::NotJson, ..)) => Err(NOT_JSON),
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
