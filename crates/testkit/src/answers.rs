//! What came back.

use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {} {}", self.status, self.text))
    }

    /// The error code, or "" if it is none.
    pub fn code(&self) -> String {
        let body: Value = serde_json::from_str(&self.text).unwrap_or_default();
        body["error"]["code"].as_str().unwrap_or("").to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a printable header"))
    }

    /// The JSON of an answer that must be good.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Checks for a refusal; gives its details.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status.as_u16(), self.code().as_str()), (status, code), "{}", self.text);
        let error = self.json()["error"].clone();
        assert!(error["message"].as_str().is_some_and(|message| message.len() > 10), "a refusal says why");
        error["details"].clone()
    }
}
