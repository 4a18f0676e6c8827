//! What a JSON-RPC message is, as far as the bridge has to know.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, Request, header};
use serde_json::{Value, json};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const VERSION_FIELD: &str = "io.modelcontextprotocol/protocolVersion";

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
/// The server could not be asked, or did not answer.
pub(super) const UNAVAILABLE: i64 = -32000;

/// A message from the client.
#[derive(Clone)]
pub(super) struct Message {
    text: Bytes,
    value: Value,
}

impl Message {
    /// `Err` is the error's code and what to say.
    pub(super) fn parse(text: &str) -> Result<Self, (i64, &'static str)> {
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => Ok(Self { text: Bytes::from(text.trim().to_owned()), value }),
            Ok(_) => Err((INVALID_REQUEST, "a message is one JSON object on a line; batches are not taken")),
            Err(_) => Err((PARSE_ERROR, "this line is not JSON")),
        }
    }

    pub(super) fn method(&self) -> &str {
        self.value["method"].as_str().unwrap_or("")
    }

    /// The id of a request; notifications and answers have none that would be answered.
    pub(super) fn request_id(&self) -> Option<&Value> {
        self.value.get("id").filter(|_| self.value.get("method").is_some())
    }

    pub(super) fn param(&self, name: &str) -> &Value {
        &self.value["params"][name]
    }

    /// The version that the message itself names: since 2026-07-28 every request does.
    pub(super) fn own_version(&self) -> Option<&str> {
        self.value["params"]["_meta"][VERSION_FIELD].as_str()
    }

    /// What has to be repeated in a header, so that a proxy need not read the body.
    fn name(&self) -> Option<&str> {
        let field = match self.method() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return None,
        };
        self.param(field).as_str()
    }

    /// The message as a request to the door.
    pub(super) fn to_request(&self, session: Option<&Session>) -> Request<Body> {
        let mut request = to_door(Method::POST, Body::from(self.text.clone()));
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut put = |name: HeaderName, value: Option<&str>| {
            // A name that does not fit is left out: the door says what is missing.
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&header_text(value)).ok()) {
                headers.insert(name, value);
            }
        };
        match (self.own_version(), session) {
            (Some(version), _) => {
                put(VERSION, Some(version));
                put(METHOD, Some(self.method()));
                put(NAME, self.name());
            }
            (None, Some(session)) => {
                put(VERSION, Some(&session.version));
                put(SESSION, Some(&session.id));
            }
            (None, None) => {}
        }
        request
    }
}

/// An MCP session of a version before 2026-07-28.
#[derive(Clone, PartialEq)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) version: String,
}

impl Session {
    /// A request that has no message: for the session's stream, or its end.
    pub(super) fn to_request(&self, method: Method, last_event: Option<&str>) -> Request<Body> {
        let mut request = to_door(method, Body::empty());
        for (name, value) in [(VERSION, self.version.as_str()), (SESSION, &self.id)] {
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers_mut().insert(name, value);
            }
        }
        if let Some(id) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers_mut().insert(LAST_EVENT_ID, id);
        }
        request
    }
}

fn to_door(method: Method, body: Body) -> Request<Body> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = axum::http::Uri::from_static("/mcp");
    let accept = HeaderValue::from_static("application/json, text/event-stream");
    request.headers_mut().insert(header::ACCEPT, accept);
    request
}

/// Text that cannot be in a header travels in Base64, marked as the protocol says.
fn header_text(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let marked = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !marked && text.trim() == text {
        return text.to_owned();
    }
    format!("=?base64?{}?=", data_encoding::BASE64.encode(text.as_bytes()))
}

/// An error as an answer; `id` is null where it answers no request in particular.
pub(super) fn error(id: &Value, code: i64, message: &str, data: Option<&Value>) -> String {
    let mut error = json!({"code": code, "message": message});
    if let Some(data) = data {
        error["data"] = data.clone();
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// Whether this is what the request was waiting for.
pub(super) fn answers(message: &Value, id: &Value) -> bool {
    message.get("id") == Some(id) && message.get("method").is_none()
}

/// Makes an answer to this request out of a body that came without the request's id: a JSON-RPC error to nobody in
/// particular, or the error envelope that every door has.
pub(super) fn as_answer(id: &Value, status: axum::http::StatusCode, bytes: &[u8]) -> String {
    let body: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    if answers(&body, id) {
        return body.to_string();
    }
    let told = &body["error"];
    match (told["code"].as_i64(), told["code"].as_str(), told["message"].as_str()) {
        (Some(code), _, Some(message)) => error(id, code, message, told.get("data")),
        (_, Some(code), Some(message)) => error(id, UNAVAILABLE, &format!("{code}: {message}"), Some(&body)),
        _ => error(id, UNAVAILABLE, &format!("the server answered {status}"), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_the_new_protocol_carries_its_headers() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let Ok(message) = Message::parse(text) else { panic!("a message") };
        let request = message.to_request(None);
        let value = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
        assert_eq!(value(VERSION), Some("2026-07-28"));
        assert_eq!(value(METHOD), Some("tools/call"));
        assert_eq!(value(NAME), Some("=?base64?Z3LDtsOfZQ==?="));
        assert_eq!(value(SESSION), None);
    }

    #[test]
    fn whatever_the_door_says_becomes_an_answer_to_the_request() {
        let id = json!("seven");
        let cases = [
            (r#"{"jsonrpc":"2.0","id":"seven","result":{}}"#, json!({"jsonrpc": "2.0", "id": "seven", "result": {}})),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone"}}"#,
                json!({"jsonrpc": "2.0", "id": "seven", "error": {"code": -32001, "message": "gone"}}),
            ),
            (
                r#"{"error":{"code":"UNAUTHENTICATED","message":"no"}}"#,
                json!({"jsonrpc": "2.0", "id": "seven", "error": {"code": -32000, "message": "UNAUTHENTICATED: no",
                    "data": {"error": {"code": "UNAUTHENTICATED", "message": "no"}}}}),
            ),
            (
                "<html>",
                json!({"jsonrpc": "2.0", "id": "seven", "error": {"code": -32000, "message": "the server answered 502 Bad Gateway"}}),
            ),
        ];
        for (body, expected) in cases {
            let told = as_answer(&id, axum::http::StatusCode::BAD_GATEWAY, body.as_bytes());
            assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), expected);
        }
    }
}
