//! Streamable HTTP on the house's own client: every body is bounded, redirects are refused, and what a server says in an error
//! is not repeated.

mod events;

use crate::watched::TOO_LARGE;
use crate::weights::Weight;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;

type Headers = HashMap<HeaderName, HeaderValue>;
type Failed = StreamableHttpError<Fault>;

/// What went wrong with a request, in words of our own: the library's would name the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// Nothing was sent.
    #[error("it cannot be reached")]
    NotReached,
    #[error("its connection broke")]
    Broken,
    #[error("{TOO_LARGE}")]
    TooLarge,
}

impl From<reqwest::Error> for Fault {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() { Self::NotReached } else { Self::Broken }
    }
}

/// The failure of a request that an error of the SDK is about, if it is about one.
fn failure_in<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Failed> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(failed) = error.downcast_ref() {
            return Some(failed);
        }
        cause = error.source();
    }
    None
}

/// Whether it is certain that nothing was sent.
pub(crate) fn is_not_reached(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(failure_in(error), Some(StreamableHttpError::Client(Fault::NotReached)))
}

/// In words of our own; what libraries say may hold addresses and answers.
pub(crate) fn words_of(error: &(dyn std::error::Error + 'static)) -> String {
    match failure_in(error) {
        Some(StreamableHttpError::Client(fault)) => fault.to_string(),
        Some(StreamableHttpError::HttpStatus(http)) => format!("it answered with status {}", http.status),
        Some(StreamableHttpError::SessionExpired) => "it does not know the session any more".to_owned(),
        Some(StreamableHttpError::UnexpectedServerResponse(_) | StreamableHttpError::UnexpectedContentType(_)) => {
            "its answer is in no known form".to_owned()
        }
        _ => "its connection failed".to_owned(),
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Http {
    pub(crate) client: Client,
    /// Of a message or an event.
    pub(crate) most: usize,
}

impl StreamableHttpClient for Http {
    type Error = Fault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_vec(&message)?;
        let has_session = session.is_some();
        let request = self.client.post(uri.as_ref()).header(CONTENT_TYPE, JSON_MIME_TYPE).body(body);
        let response = sent(request, session, None, headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if status.is_success() && !is_request {
            // Nothing else is expected, whatever it says.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        self.answer(response).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        sent(self.client.delete(uri.as_ref()), Some(session), None, headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let response = sent(self.client.get(uri.as_ref()), session, last_event_id, headers).await?;
        match (response.status(), kind(&response)) {
            (StatusCode::METHOD_NOT_ALLOWED, _) => Err(StreamableHttpError::ServerDoesNotSupportSse),
            (status, EVENT_STREAM_MIME_TYPE) if status.is_success() => Ok(events::stream(response, self.most)),
            (status, _) => Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
    }
}

async fn sent(
    mut request: RequestBuilder,
    session: Option<Arc<str>>,
    last_event_id: Option<String>,
    headers: Headers,
) -> Result<Response, Failed> {
    request = request.header(ACCEPT, format!("{JSON_MIME_TYPE}, {EVENT_STREAM_MIME_TYPE}"));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(session) = session {
        request = request.header(HEADER_SESSION_ID, session.as_ref());
    }
    if let Some(id) = last_event_id {
        request = request.header(HEADER_LAST_EVENT_ID, id);
    }
    request.send().await.map_err(|error| StreamableHttpError::Client(error.into()))
}

/// What sort of body it has.
fn kind(response: &Response) -> &'static str {
    let kind = response.headers().get(CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
    let is = |name: &str| kind.len() >= name.len() && kind[..name.len()].eq_ignore_ascii_case(name.as_bytes());
    [JSON_MIME_TYPE, EVENT_STREAM_MIME_TYPE].into_iter().find(|name| is(name)).unwrap_or_default()
}

impl Http {
    async fn answer(&self, response: Response) -> Result<StreamableHttpPostResponse, Failed> {
        let status = response.status();
        let session = response.headers().get(HEADER_SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        match kind(&response) {
            EVENT_STREAM_MIME_TYPE if status.is_success() => {
                Ok(StreamableHttpPostResponse::Sse(events::stream(response, self.most), session))
            }
            // A refusal may be a proper answer.
            JSON_MIME_TYPE if status.is_success() || status.is_client_error() => {
                let body = self.body(response).await.map_err(StreamableHttpError::Client)?;
                match serde_json::from_slice(&body) {
                    Ok(message @ ServerJsonRpcMessage::Error(_)) => {
                        Ok(StreamableHttpPostResponse::Json(message, session))
                    }
                    Ok(message) if status.is_success() => Ok(StreamableHttpPostResponse::Json(message, session)),
                    _ if status.is_success() => {
                        Err(StreamableHttpError::UnexpectedServerResponse("its answer is in no known form".into()))
                    }
                    _ => Err(HttpStatusError::new(status.as_u16(), None).into()),
                }
            }
            _ if status.is_success() => Err(StreamableHttpError::UnexpectedContentType(None)),
            _ => Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Fault> {
        let (mut body, mut weight) = (Vec::new(), Weight::new(self.most));
        while let Some(bytes) = response.chunk().await? {
            if !weight.bears(&bytes) {
                return Err(Fault::TooLarge);
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }
}
