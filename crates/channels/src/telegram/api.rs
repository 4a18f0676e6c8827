//! The calls of Telegram's Bot API: their envelope, and what its errors mean.

use crate::pauses::Timing;
use crate::secrets::Secret;
use crate::wire::{self, Answer};
use crate::{Error, Result};
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

pub(crate) struct Api {
    client: Client,
    /// Ends with the token, so it is never shown.
    prefix: Secret,
    token: Secret,
    pub(crate) timing: Timing,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    ok: bool,
    result: Option<Box<RawValue>>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<f64>,
}

impl Api {
    pub(crate) fn new(client: Client, base: &str, token: Secret, timing: Timing) -> Self {
        let prefix = Secret::new(format!("{base}/bot{}", token.reveal()));
        Self { client, prefix, token, timing }
    }

    /// Asks once.
    pub(crate) async fn call<T: DeserializeOwned>(&self, method: &str, body: &Value) -> Result<T> {
        self.call_within(method, body, self.timing.answer).await
    }

    /// The same for a question that the provider may keep for a while.
    pub(crate) async fn call_within<T>(&self, method: &str, body: &Value, within: Duration) -> Result<T>
    where
        T: DeserializeOwned,
    {
        let url = format!("{}/{method}", self.prefix.reveal());
        let request = self.client.post(url).header(CONTENT_TYPE, "application/json").body(body.to_string());
        let answer = wire::ask(request, within).await?;
        let envelope = serde_json::from_slice::<Envelope>(&answer.body).ok();
        match envelope {
            Some(Envelope { ok: true, result: Some(result), .. }) if answer.status == 200 => {
                serde_json::from_str(result.get()).map_err(|_| Error::Garbled("its result has another form"))
            }
            envelope => Err(self.error(&answer, envelope)),
        }
    }

    fn error(&self, answer: &Answer, envelope: Option<Envelope>) -> Error {
        let Some(envelope) = envelope else {
            return match answer.status {
                200 => Error::Garbled("it is no JSON of the Bot API"),
                404 => Error::Unauthorized { status: 404 },
                _ => answer.error("", None, &self.token),
            };
        };
        match answer.status {
            // What a token of a wrong form is answered with.
            404 => Error::Unauthorized { status: 404 },
            200 => Error::Garbled("it has no result"),
            _ => answer.error(
                &envelope.description,
                envelope.parameters.retry_after.and_then(wire::seconds),
                &self.token,
            ),
        }
    }
}
