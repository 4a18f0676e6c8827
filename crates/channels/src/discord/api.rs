//! The calls of Discord's REST API, and what its errors mean.

use crate::pauses::Timing;
use crate::secrets::Secret;
use crate::wire::{self, Answer};
use crate::{Error, InvalidOptions, Result};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Client, Method};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// The form that Discord asks bots to give.
const NAME: &str = concat!("DiscordBot (https://longhouse.invalid, ", env!("CARGO_PKG_VERSION"), ")");

pub(crate) struct Api {
    client: Client,
    base: String,
    /// Include the token, marked as secret.
    headers: HeaderMap,
    pub(crate) token: Secret,
    pub(crate) timing: Timing,
}

/// What was answered, and how long nothing more should be said there.
pub(crate) struct Said<T> {
    pub(crate) result: T,
    pub(crate) quiet: Option<Duration>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Complaint {
    message: String,
    retry_after: Option<f64>,
}

impl Api {
    pub(crate) fn new(client: Client, base: String, token: Secret, timing: Timing) -> Result<Self, InvalidOptions> {
        let mut authorization = HeaderValue::from_str(&format!("Bot {}", token.reveal()))
            .map_err(|_| InvalidOptions::new("the bot's token has characters that no token has"))?;
        authorization.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization);
        headers.insert(USER_AGENT, HeaderValue::from_static(NAME));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { client, base, headers, token, timing })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.base.starts_with("https:")
    }

    /// Asks once. `path` begins with a slash and is made of the house's own words and of numbers.
    pub(crate) async fn call<T>(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Said<T>>
    where
        T: DeserializeOwned,
    {
        let request = self.client.request(method, format!("{}{path}", self.base)).headers(self.headers.clone());
        let request = request.body(body.map(Value::to_string).unwrap_or_default());
        let answer = wire::ask(request, self.timing.answer).await?;
        if !(200..300).contains(&answer.status) {
            return Err(self.error(&answer));
        }
        // Some calls are answered with nothing.
        let body: &[u8] = if answer.body.is_empty() { b"null" } else { &answer.body };
        let result = serde_json::from_slice(body).map_err(|_| Error::Garbled("its result has another form"))?;
        Ok(Said { result, quiet: quiet(&answer) })
    }

    fn error(&self, answer: &Answer) -> Error {
        let complaint: Complaint = serde_json::from_slice(&answer.body).unwrap_or_default();
        answer.error(&complaint.message, complaint.retry_after.and_then(wire::seconds), &self.token)
    }
}

/// Nothing is left of what may be said there: the next word would be refused, and bots that are refused too often are
/// shut out.
fn quiet(answer: &Answer) -> Option<Duration> {
    let left = answer.headers.get("x-ratelimit-remaining")?;
    if left == "0" { answer.seconds("x-ratelimit-reset-after") } else { None }
}
