//! The MCP door: streamable HTTP at `/mcp`, spoken by the official SDK.
//!
//! Everything that other doors check is checked here before the SDK sees a request: who asks, how large and how deep the
//! body is, whose session an id names. The SDK is handed the caller beside each request and never a credential, so
//! nothing that an MCP session remembers can let anybody in.

mod answers;
mod askers;
mod completions;
mod node_tools;
mod prompts;
mod resources;
mod server;
mod sessions;
mod subscriptions;
mod tasks;
mod tools;

use crate::app::App;
use crate::bodies;
use crate::hosts::Hosts;
use crate::metrics::OpenStream;
use crate::signed::Signed;
use answers::{Denied, ProtocolFailure, in_json_rpc, readable};
use askers::Asker;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{Code, Refusal};
use futures_util::StreamExt;
use http_body_util::Full;
use protocol::errors::ErrorBody;
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use server::Server;
use sessions::{Owner, Sessions, Visit};
use std::sync::Arc;
use subscriptions::Listens;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const SESSION_ID: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// What the door keeps between requests: sessions of clients that speak a version before 2026-07-28, and counts.
pub(crate) struct Mcp {
    sdk: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<Sessions>,
    listens: Listens,
}

impl Mcp {
    pub(crate) fn new(hosts: &Hosts) -> Self {
        let manager = Arc::new(sessions::manager());
        // The entrance has checked both already; the SDK is told the same names so that it neither refuses a host that is
        // configured nor lets in more.
        let origins = hosts.names().flat_map(|name| [format!("http://{name}:*"), format!("https://{name}:*")]);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts.names())
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(bodies::LARGEST)
            // An event without data, meant to prime a client for reconnecting, is an error to clients from before 2025-11-25.
            .with_sse_retry(None)
            .with_json_response(true);
        let sdk = StreamableHttpService::new(|| Ok(Server::default()), manager.clone(), config);
        Self { sdk, sessions: Arc::new(Sessions::new(manager)), listens: Listens::default() }
    }
}

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(post, get, delete))
}

/// Speak MCP: one JSON-RPC message. Versions before 2026-07-28 begin with `initialize`.
#[utoipa::path(post, path = "/mcp", tag = "mcp", request_body = Object,
    params(("Mcp-Protocol-Version" = Option<String>, Header), ("Mcp-Session-Id" = Option<String>, Header)),
    responses(
        (status = 200, body = Object, description = "A JSON-RPC answer, or a stream that ends with it; 202 for a notification"),
        (status = 400, body = Object, description = "A JSON-RPC error: what was sent is no message of MCP"),
        (status = 401, body = ErrorBody, description = "UNAUTHENTICATED"),
        (status = 404, body = Object, description = "A JSON-RPC error: no such method, or no such MCP session")))]
async fn post(State(app): State<App>, signed: Signed, request: Request) -> Result<Response, Denied> {
    let asker = Asker::admit(signed)?;
    let (mut parts, body) = request.into_parts();
    let bytes = bodies::read(&parts.headers, body, bodies::LARGEST).await?;
    let message = readable(&bytes)?;
    let visit = visit(&app, &mut parts, &asker)?;
    if let Some(visit) = &visit {
        parts.extensions.insert(visit.presence());
    }
    let method = message["method"].as_str().unwrap_or("");
    let listen = match method {
        "subscriptions/listen" => Some(app.mcp.listens.open(&asker, &message["params"], &mut parts).await?),
        _ => None,
    };
    let begins = visit.is_none() && method == "initialize";
    let response =
        if begins { begin(&app, parts, bytes, &asker).await? } else { hand_over(&app, parts, bytes, &asker).await };
    Ok(held(&app, response, (visit, listen)))
}

/// Opens a session. In a task of its own: a client that hangs up in between would leave one that nobody counts or ends.
async fn begin(app: &App, parts: Parts, bytes: Bytes, asker: &Asker) -> Result<Response, Denied> {
    let (app, asker) = (app.clone(), asker.clone());
    let beginning = tokio::spawn(async move {
        let response = hand_over(&app, parts, bytes, &asker).await;
        if let Some(id) = session_id(response.headers()) {
            app.mcp.sessions.open(id, &asker).await?;
        }
        Ok::<_, Denied>(response)
    });
    let failed = |_| Refusal::new(Code::Internal, "the MCP session could not be opened; the log says why");
    beginning.await.map_err(failed)?
}

/// The stream of an MCP session, for clients that speak a version before 2026-07-28.
#[utoipa::path(get, path = "/mcp", tag = "mcp", params(("Mcp-Session-Id" = String, Header)),
    responses((status = 200, description = "A stream of server-sent events", content_type = "text/event-stream", body = String),
        (status = 404, body = Object, description = "A JSON-RPC error: no such MCP session")))]
async fn get(State(app): State<App>, signed: Signed, request: Request) -> Result<Response, Denied> {
    let asker = Asker::admit(signed)?;
    let (mut parts, _) = request.into_parts();
    let visit = visit(&app, &mut parts, &asker)?;
    let response = hand_over(&app, parts, Bytes::new(), &asker).await;
    Ok(held(&app, response, visit))
}

/// End an MCP session of a version before 2026-07-28.
#[utoipa::path(delete, path = "/mcp", tag = "mcp", params(("Mcp-Session-Id" = String, Header)),
    responses((status = 204), (status = 404, body = Object, description = "A JSON-RPC error: no such MCP session")))]
async fn delete(State(app): State<App>, signed: Signed, request: Request) -> Result<Response, Denied> {
    let asker = Asker::admit(signed)?;
    let (mut parts, _) = request.into_parts();
    let visit = visit(&app, &mut parts, &asker)?;
    let response = hand_over(&app, parts, Bytes::new(), &asker).await;
    if !response.status().is_success() {
        return Ok(response);
    }
    if let Some(visit) = visit {
        visit.forget();
    }
    // The SDK says 202, which clients take for a failure.
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The session that a request names, if it is the asker's. To anybody else it is as unknown as one that never was.
fn visit(app: &App, parts: &mut Parts, asker: &Asker) -> Result<Option<Visit>, ProtocolFailure> {
    let Some(id) = session_id(&parts.headers).map(str::to_owned) else {
        parts.headers.remove(SESSION_ID);
        return Ok(None);
    };
    if let Some(visit) = app.mcp.sessions.visit(&id, &Owner::of(asker)) {
        return Ok(Some(visit));
    }
    // There the header means nothing.
    if is_stateless(parts) {
        parts.headers.remove(SESSION_ID);
        return Ok(None);
    }
    Err(ProtocolFailure::session_not_found())
}

/// Whether a request is of a version without sessions, as all are since 2026-07-28.
fn is_stateless(parts: &Parts) -> bool {
    let version = parts.headers.get(VERSION).and_then(|value| value.to_str().ok()).unwrap_or("");
    version >= ProtocolVersion::V_2026_07_28.as_str()
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID).and_then(|value| value.to_str().ok())
}

/// Gives the request to the SDK: with the caller, without the credential.
async fn hand_over(app: &App, mut parts: Parts, bytes: Bytes, asker: &Asker) -> Response {
    parts.headers.remove(header::AUTHORIZATION);
    parts.headers.remove(header::COOKIE);
    parts.extensions.insert(asker.clone());
    let response = app.mcp.sdk.handle(Request::from_parts(parts, Full::new(bytes))).await;
    in_json_rpc(response.map(Body::new))
}

/// A stream holds what it uses until its last byte.
fn held<G: Send + Sync + 'static>(app: &App, response: Response, guard: G) -> Response {
    if response.headers().get(header::CONTENT_TYPE) != Some(&EVENTS) {
        return response;
    }
    let guard: (G, OpenStream) = (guard, app.metrics.open_stream());
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| {
            let _held = &guard;
            chunk
        }))
    })
}
