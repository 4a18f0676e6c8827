//! One call of a provider over HTTP: its times, what its status means, its bytes as they arrive.
//!
//! What the bytes mean, [`Answer`] knows. Nothing here tries again, and no address or key gets into an error.

use crate::answers::{Answer, Listening};
use crate::drafts::Heard;
use crate::providers::Timeouts;
use crate::{Error, Result, statuses};
use bytes::Bytes;
use domain::addresses::Refused;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, Url};
use std::error::Error as _;
use std::time::Duration;

/// Bytes of an answer that is not streamed, and so must be kept until it is read.
const BODY_MOST: usize = 4 * 1024 * 1024;
/// Bytes of a refusal that are looked at.
const REFUSAL_MOST: usize = 16 * 1024;
/// How long the end of the body is waited for after the answer was whole: a connection that is read to its end is used
/// again, and one that is not would cost the next call a handshake.
const TAIL_WITHIN: Duration = Duration::from_millis(100);

/// Where a provider takes calls.
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) url: Url,
    /// Includes the key, marked as secret.
    pub(crate) headers: HeaderMap,
    /// Known here only to be taken out of what the provider says.
    pub(crate) key: Option<String>,
    pub(crate) timeouts: Timeouts,
}

impl Endpoint {
    /// Asks once, and tells `answer` all that arrives. Whether it is whole `answer` knows.
    pub(crate) async fn call(&self, body: Vec<u8>, answer: &mut dyn Answer, heard: Heard<'_>) -> Result<()> {
        let limit = self.timeouts.total;
        let called = match tokio::time::timeout(limit, self.converse(body, answer, heard)).await {
            Ok(called) => called,
            Err(_) => Err(Error::Timeout { stage: "total", limit }),
        };
        called.map_err(|error| statuses::cleaned(error, self.key.as_deref()))
    }

    async fn converse(&self, body: Vec<u8>, answer: &mut dyn Answer, heard: Heard<'_>) -> Result<()> {
        let mut response = self.send(body).await?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.refusal(status, response).await);
        }
        let kind = content_type(response.headers());
        if kind.starts_with("text/html") {
            return Err(Error::Garbled("it is a web page, so the base URL may be wrong"));
        }
        if kind.starts_with("application/json") {
            let body = self.body(&mut response).await?;
            let value = serde_json::from_slice(&body).map_err(|_| Error::Garbled("it is no JSON"))?;
            return answer.at_once(&value, heard);
        }
        let mut listening = Listening::default();
        while let Some(bytes) = self.chunk(&mut response).await? {
            listening.hear(&bytes, answer, &mut *heard)?;
            if answer.is_over() {
                // Whatever comes now changes nothing any more.
                let _ = tokio::time::timeout(TAIL_WITHIN, response.chunk()).await;
                break;
            }
        }
        Ok(())
    }

    async fn send(&self, body: Vec<u8>) -> Result<Response> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let limit = self.timeouts.first_byte;
        match tokio::time::timeout(limit, request.send()).await {
            Err(_) => Err(Error::Timeout { stage: "first byte", limit }),
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() && error.is_timeout() => {
                Err(Error::Timeout { stage: "connect", limit: self.timeouts.connect })
            }
            Ok(Err(error)) if error.is_connect() => Err(Error::Unreachable(why_unreachable(&error))),
            Ok(Err(_)) => Err(Error::Unanswered),
        }
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>> {
        let limit = self.timeouts.idle;
        match tokio::time::timeout(limit, response.chunk()).await {
            Err(_) => Err(Error::Timeout { stage: "idle", limit }),
            Ok(chunk) => chunk.map_err(|_| Error::Cut),
        }
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk(response).await? {
            if body.len() + bytes.len() > BODY_MOST {
                return Err(Error::TooLarge);
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    /// What a refusal means. Its status counts even if its words do not arrive.
    async fn refusal(&self, status: u16, mut response: Response) -> Error {
        let retry_after = statuses::retry_after(response.headers());
        let mut body = Vec::new();
        while body.len() < REFUSAL_MOST
            && let Ok(Some(bytes)) = self.chunk(&mut response).await
        {
            body.extend_from_slice(&bytes);
        }
        statuses::error_of(status, retry_after, &statuses::sentence(&String::from_utf8_lossy(&body)))
    }
}

fn content_type(headers: &HeaderMap) -> String {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// Why nobody answered, in words of our own: the library's would name the address.
fn why_unreachable(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            return refused.to_string();
        }
        let io = inner.downcast_ref::<std::io::Error>();
        let wrapped = io.and_then(|io| io.get_ref()).and_then(|inner| inner.downcast_ref());
        if let Some(tls) = inner.downcast_ref::<rustls::Error>().or(wrapped) {
            return statuses::excerpt_of(&format!("no secure connection: {tls}"), None);
        }
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused) {
            return "connection refused".to_owned();
        }
        cause = inner.source();
    }
    if error.is_dns() {
        "its name is not known".to_owned()
    } else if error.is_connect() {
        "no connection".to_owned()
    } else {
        "the connection ended before an answer".to_owned()
    }
}
