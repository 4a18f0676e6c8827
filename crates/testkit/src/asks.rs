//! A request in the making.

use crate::answers::Answer;
use crate::streams::Events;
use api::{Door, Entrance, Peer};
use axum::body::Body;
use axum::http::{Method, Request, Response, header};
use http_body_util::BodyExt;
use serde_json::Value;
use std::net::IpAddr;

pub struct Ask {
    entrance: Entrance,
    request: axum::http::request::Builder,
    door: Door,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(entrance: Entrance, method: Method, path: &str) -> Self {
        let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost:7700");
        Self { entrance, request, door: Door::Network, body: Vec::new() }
    }

    /// Comes through the socket in the data directory.
    #[must_use]
    pub fn locally(mut self) -> Self {
        self.door = Door::Local;
        self
    }

    /// Comes from another machine.
    #[must_use]
    pub fn from(mut self, address: IpAddr) -> Self {
        self.request.extensions_mut().expect("a good request").insert(Peer(address));
        self
    }

    #[must_use]
    pub fn by(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Sets a header in place of any of that name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let headers = self.request.headers_mut().expect("a good request");
        headers.insert(header::HeaderName::try_from(name).expect("a header"), value.parse().expect("a value"));
        self
    }

    /// Adds a header beside any of that name.
    #[must_use]
    pub fn also(mut self, name: &str, value: &[u8]) -> Self {
        let headers = self.request.headers_mut().expect("a good request");
        let name = header::HeaderName::try_from(name).expect("a header");
        headers.append(name, header::HeaderValue::from_bytes(value).expect("a value"));
        self
    }

    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().expect("a good request").remove(name);
        self
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.bytes("application/json", body.to_string().into_bytes())
    }

    #[must_use]
    pub fn bytes(mut self, content_type: &str, body: Vec<u8>) -> Self {
        self.body = body;
        self.header("content-type", content_type)
    }

    /// The answer as it comes, for protocols that the testkit does not know.
    pub async fn raw(self) -> Response<Body> {
        let request = self.request.body(Body::from(self.body)).expect("a good request");
        self.entrance.call(self.door, request).await
    }

    /// The whole answer. An event stream has no end, so nothing of it is read.
    pub async fn send(self) -> Answer {
        let (parts, body) = self.raw().await.into_parts();
        if parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream") {
            return Answer { status: parts.status, headers: parts.headers, text: String::new() };
        }
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        Answer { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).expect("text") }
    }

    /// Opens an event stream; the answer must be one.
    pub async fn stream(self) -> Events {
        let response = self.raw().await;
        assert_eq!(response.status(), 200, "an event stream was expected");
        Events::new(response.into_body())
    }
}
