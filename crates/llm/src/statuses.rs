//! What a provider's refusal means, and how much of its words may be passed on.

use crate::Error;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

/// Characters of the provider's own words.
const EXCERPT_MOST: usize = 300;
/// A provider that asks for more patience than this is treated as if it had asked for this much.
const RETRY_AFTER_MOST: Duration = Duration::from_secs(3600);

/// What a status that is no success means. `said` is the provider's text; it is cleaned where the key is known.
pub(crate) fn error_of(status: u16, retry_after: Option<Duration>, said: &str) -> Error {
    match status {
        429 => Error::RateLimited { retry_after },
        500.. => Error::Failing { status, retry_after },
        300..400 => Error::Refused { status, excerpt: "it redirects, and redirects are not followed".to_owned() },
        _ => Error::Refused { status, excerpt: said.to_owned() },
    }
}

/// The patience that a provider asks for, in seconds or until a date. A date is measured by the provider's own clock.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let asked = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = httpdate::parse_http_date(text).ok()?;
            let now = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
            until.duration_since(now).unwrap_or_default()
        }
    };
    Some(asked.min(RETRY_AFTER_MOST))
}

/// The sentence in an error body that is meant for people, or else the body.
pub(crate) fn sentence(body: &str) -> String {
    let parsed = serde_json::from_str::<Value>(body).unwrap_or_default();
    let places = [parsed.pointer("/error/message"), parsed.get("message"), parsed.get("detail"), parsed.get("error")];
    let found = places.into_iter().flatten().find_map(Value::as_str);
    found.unwrap_or(body).to_owned()
}

/// The error with an excerpt that is bounded, of one line, and without the key, whoever wrote it there.
pub(crate) fn cleaned(error: Error, key: Option<&str>) -> Error {
    match error {
        Error::Refused { status, excerpt } => Error::Refused { status, excerpt: excerpt_of(&excerpt, key) },
        other => other,
    }
}

pub(crate) fn excerpt_of(said: &str, key: Option<&str>) -> String {
    // The key goes first: cut in two or joined by cleaning, it would no longer be found.
    let said = key.map_or_else(|| said.to_owned(), |key| said.replace(key, "[key]"));
    let words = said.split(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '\u{fffd}');
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_MOST) {
        Some((end, _)) => line[..end].to_owned(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn statuses_tell_who_may_be_asked_again() {
        let wait = Some(Duration::from_secs(2));
        assert_eq!(error_of(429, wait, "x"), Error::RateLimited { retry_after: wait });
        for status in [500, 502, 503, 529, 599] {
            assert_eq!(error_of(status, wait, "x"), Error::Failing { status, retry_after: wait });
        }
        for status in [400, 401, 403, 404, 413, 422, 204] {
            assert_eq!(error_of(status, wait, "x"), Error::Refused { status, excerpt: "x".to_owned() });
        }
        assert!(
            matches!(error_of(307, None, "http://elsewhere"), Error::Refused { status: 307, excerpt } if !excerpt.contains("elsewhere"))
        );
    }

    #[test]
    fn patience_is_seconds_or_a_date_and_has_a_bound() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let cases = [
            ("7", None, Some(7)),
            (" 0 ", None, Some(0)),
            ("999999999", None, Some(3600)),
            ("99999999999999999999999", Some(date), None),
            ("-1", Some(date), None),
            ("soon", Some(date), None),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(date), Some(30)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", Some(date), Some(0)),
            ("Sat, 06 Nov 1999 08:49:07 GMT", Some(date), Some(3600)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", None, None),
        ];
        for (text, now, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            if let Some(now) = now {
                headers.insert(DATE, HeaderValue::from_static(now));
            }
            assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn an_excerpt_is_one_short_line_without_the_key() {
        let cases = [
            ("wrong key sk-123\r\n\u{7} try\tagain", "wrong key [key] try again"),
            ("sk-123sk-123", "[key][key]"),
            ("", ""),
        ];
        for (said, expected) in cases {
            assert_eq!(excerpt_of(said, Some("sk-123")), expected);
        }
        let long = format!("{}sk-123", "ä".repeat(EXCERPT_MOST - 3));
        assert_eq!(excerpt_of(&long, Some("sk-123")), format!("{}[ke", "ä".repeat(EXCERPT_MOST - 3)));
    }

    #[test]
    fn the_sentence_for_people_is_found() {
        let cases = [
            (r#"{"error": {"message": "no such model", "type": "x"}}"#, "no such model"),
            (r#"{"error": "no such model"}"#, "no such model"),
            (r#"{"message": "no such model"}"#, "no such model"),
            (r#"{"detail": "no such model"}"#, "no such model"),
            (r#"{"other": 1}"#, r#"{"other": 1}"#),
            ("<html>", "<html>"),
        ];
        for (body, expected) in cases {
            assert_eq!(sentence(body), expected);
        }
    }
}
