//! The three ways to say no in MCP: a tool's result with `isError`, a JSON-RPC error, and a status of HTTP.

use crate::errors::Failure;
use crate::strict_json;
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{Code, Refusal};
use protocol::errors::{ErrorBody, ErrorDetail};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ErrorCode};
use serde_json::{Value, json};
use std::borrow::Cow;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// As other servers of MCP say that a session is unknown.
const SESSION_NOT_FOUND: i32 = -32001;

/// The error envelope, the same JSON as over HTTP.
fn envelope(refusal: Refusal) -> Value {
    let Refusal { code, message, details } = refusal;
    let body = ErrorBody { error: ErrorDetail { code: code.as_str().to_owned(), message, details } };
    serde_json::to_value(body).unwrap_or(Value::Null)
}

/// What a tool came to. A refusal is a result too, so that a model can read it and react.
pub(super) fn tool_result(outcome: service::Result<Value>) -> CallToolResult {
    match outcome {
        Ok(answer) => CallToolResult::structured(answer),
        Err(error) => CallToolResult::structured_error(envelope(Failure::from(error).0)),
    }
}

/// A refusal where MCP knows only errors: resources and prompts.
pub(super) fn protocol_error(error: service::Error) -> ErrorData {
    let refusal = Failure::from(error).0;
    let code = match refusal.code {
        Code::KeyNotFound | Code::ItemNotFound | Code::SessionNotFound | Code::AgentNotFound | Code::Expired => {
            ErrorCode::RESOURCE_NOT_FOUND
        }
        Code::Internal | Code::Unavailable | Code::QueueFull | Code::StorageFull => ErrorCode::INTERNAL_ERROR,
        _ => ErrorCode::INVALID_PARAMS,
    };
    let message = refusal.message.clone();
    ErrorData::new(code, message, Some(envelope(refusal)))
}

/// A JSON-RPC error that answers no request in particular.
#[derive(Debug)]
pub(super) struct ProtocolFailure {
    status: StatusCode,
    code: i32,
    message: Cow<'static, str>,
}

impl ProtocolFailure {
    fn new(status: StatusCode, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(super) fn session_not_found() -> Self {
        let message = "there is no such MCP session: begin again with initialize";
        Self::new(StatusCode::NOT_FOUND, SESSION_NOT_FOUND, message)
    }
}

impl IntoResponse for ProtocolFailure {
    fn into_response(self) -> Response {
        let error = json!({"code": self.code, "message": self.message});
        (self.status, Json(json!({"jsonrpc": "2.0", "id": null, "error": error}))).into_response()
    }
}

/// Why the door gives nothing: said as every door says it, or as JSON-RPC does.
pub(super) enum Denied {
    Refused(Failure),
    NoMessage(ProtocolFailure),
}

impl<F: Into<Failure>> From<F> for Denied {
    fn from(failure: F) -> Self {
        Self::Refused(failure.into())
    }
}

impl From<ProtocolFailure> for Denied {
    fn from(failure: ProtocolFailure) -> Self {
        Self::NoMessage(failure)
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(failure) => failure.into_response(),
            Self::NoMessage(failure) => failure.into_response(),
        }
    }
}

/// Reads a body as strictly as every other door does. One message at a time: batches went out of MCP in 2025-06-18.
pub(super) fn readable(bytes: &[u8]) -> Result<Value, ProtocolFailure> {
    let bad = |code, message: Cow<'static, str>| Err(ProtocolFailure::new(StatusCode::BAD_REQUEST, code, message));
    match strict_json::parse(bytes) {
        Ok(message @ Value::Object(_)) => Ok(message),
        Ok(Value::Array(_)) => bad(INVALID_REQUEST, "one message at a time: batches are not taken".into()),
        Ok(_) => bad(INVALID_REQUEST, "a message is a JSON object".into()),
        Err(refusal) => bad(PARSE_ERROR, refusal.message.into()),
    }
}

/// The SDK says some things in plain text, partly quoting what was sent. Clients of MCP get JSON-RPC instead.
pub(super) fn in_json_rpc(response: Response) -> Response {
    let status = response.status();
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !(status.is_client_error() || status.is_server_error()) || is_json {
        return response;
    }
    let invalid = |status, message: &'static str| ProtocolFailure::new(status, INVALID_REQUEST, message);
    let failure = match status {
        StatusCode::NOT_FOUND => ProtocolFailure::session_not_found(),
        StatusCode::METHOD_NOT_ALLOWED => invalid(status, "since protocol 2026-07-28 there is only POST"),
        StatusCode::NOT_ACCEPTABLE => {
            invalid(status, "send Accept: application/json, text/event-stream (for GET text/event-stream)")
        }
        // It has read the body, and it is JSON: what it cannot be is a message.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            invalid(StatusCode::BAD_REQUEST, "this is not a JSON-RPC 2.0 message of MCP")
        }
        // Only a session that ended while it was being used comes to this.
        status if status.is_server_error() => ProtocolFailure::session_not_found(),
        _ => invalid(
            status,
            "Mcp-Session-Id is missing (begin with initialize) or Mcp-Protocol-Version is not one this server speaks",
        ),
    };
    let mut told = failure.into_response();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        told.headers_mut().insert(header::ALLOW, allow.clone());
    }
    told
}
