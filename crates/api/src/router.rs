//! The table of contents, and the entrance in front of it.

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::openapi::Contract;
use crate::{
    admin, agents, approvals, budgets, docs, events, gateway, health, items, mcp, me, messages, metrics, nodes,
    openapi, plugins, policy, projects, sessions, shared_context, sign_in, skills, tasks, tokens, tool_calls, tools,
    welcome, worker_spaces, workspaces,
};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use domain::{Code, Refusal};
use std::net::IpAddr;
use tower::ServiceExt;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

/// Every route of the house.
pub(crate) fn doors() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Contract::openapi())
        .merge(health::routes())
        .merge(openapi::routes())
        .merge(docs::routes())
        .merge(welcome::routes())
        .merge(sign_in::routes())
        .merge(me::routes())
        .merge(tokens::routes())
        .merge(projects::routes())
        .merge(agents::routes())
        .merge(items::routes())
        .merge(sessions::routes())
        .merge(shared_context::routes())
        .merge(messages::routes())
        .merge(tasks::routes())
        .merge(worker_spaces::routes())
        .merge(events::routes())
        .merge(nodes::routes())
        .merge(tool_calls::routes())
        .merge(approvals::routes())
        .merge(tools::routes())
        .merge(mcp::routes())
        .merge(workspaces::routes())
        .merge(policy::routes())
        .merge(skills::routes())
        .merge(budgets::routes())
        .merge(plugins::routes())
        .merge(gateway::routes())
        .merge(admin::routes())
}

/// By which way a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Over the network: host, origin and credential are checked.
    Network,
    /// From the house's own machine, through a socket that only its owner can open.
    Local,
}

/// The address at the other end.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// What every request passes before any door: who may ask at all, and in which words.
#[derive(Clone)]
pub struct Entrance {
    app: App,
    router: Router,
}

pub fn entrance(app: App) -> Entrance {
    let (router, _) = doors().split_for_parts();
    let router = router
        .fallback(|| async { Failure(Refusal::new(Code::RouteNotFound, "there is no such route: see /docs")) })
        .method_not_allowed_fallback(|| async {
            Failure(Refusal::new(Code::MethodNotAllowed, "this route does not take that method: see /docs"))
        })
        .layer(from_fn_with_state(app.clone(), metrics::observe))
        .layer(CatchPanicLayer::custom(|_| {
            tracing::error!("a door panicked");
            Failure(Refusal::new(Code::Internal, "something went wrong in the house; the log says what"))
                .into_response()
        }))
        .with_state(app.clone());
    Entrance { app, router }
}

impl Entrance {
    pub async fn call(&self, door: Door, mut request: Request) -> Response<Body> {
        request.extensions_mut().insert(door);
        let checked = if door == Door::Network { self.check(&request) } else { Ok(()) };
        let mut response = match checked {
            Ok(()) => {
                trim_slash(&mut request);
                // A router's own error type has no values.
                self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
            }
            Err(failure) => failure.into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        response
    }

    fn check(&self, request: &Request) -> Result<()> {
        let (uri, headers) = (request.uri(), request.headers());
        self.app.hosts.check_host(uri, headers)?;
        self.app.hosts.check_origin(request.method(), trimmed(uri.path()), headers)?;
        if uri.query().is_some_and(has_token) {
            let message = "a token does not belong in an address, where it is logged: send it as Authorization: Bearer";
            return Err(Refusal::invalid(message).into());
        }
        Ok(())
    }
}

fn trimmed(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed,
    }
}

/// A trailing slash makes no difference.
fn trim_slash(request: &mut Request) {
    let uri = request.uri();
    let path = uri.path();
    if path.len() < 2 || !path.ends_with('/') {
        return;
    }
    let path = trimmed(path);
    let text = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    if let Ok(uri) = text.parse::<Uri>() {
        *request.uri_mut() = uri;
    }
}

fn has_token(query: &str) -> bool {
    const NAMES: [&str; 6] = ["token", "access_token", "bearer", "authorization", "api_key", "jwt"];
    query.split('&').any(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let looks_signed = value.starts_with("eyJ") && value.matches('.').count() == 2;
        NAMES.contains(&name.to_ascii_lowercase().as_str()) || looks_signed
    })
}
