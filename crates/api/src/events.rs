//! Event streams over server-sent events.

use crate::app::App;
use crate::errors::Result;
use crate::metrics::OpenStream;
use crate::paths::Segment;
use crate::query::Params;
use crate::signed::Signed;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use domain::Refusal;
use domain::keys::KeySelection;
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use service::projects::ProjectRef;
use service::sessions::SessionRef;
use service::streams::{self, EventStream, Item, Start};
use std::convert::Infallible;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const LAST_EVENT_ID: &str = "last-event-id";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(of_session)).routes(routes!(of_project)).routes(routes!(of_user))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Watched {
    /// Only events about these keys: `a,b,inv:*`.
    keys: Option<String>,
    /// Where several have that id or name.
    workspace: Option<String>,
}

/// A session's events. `Last-Event-ID` resumes where a reader left off; 0 is the beginning.
#[utoipa::path(get, path = "/sessions/{session}/events", tag = "events",
    params(("session" = String, Path), Watched, ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, description = "A stream of server-sent events", content_type = "text/event-stream", body = String)))]
async fn of_session(
    State(app): State<App>,
    Signed { ctx, signed_in }: Signed,
    Segment(session): Segment,
    Params(query): Params<Watched>,
    headers: HeaderMap,
) -> Result<Response> {
    let reference = SessionRef::parse(&session, query.workspace)?;
    let selection = selection(query.keys.as_deref())?;
    let stream = streams::of_session(&ctx, signed_in, reference, selection, start(&headers)?).await?;
    Ok(render(&app, stream))
}

/// A project's events: of its sessions and of its shared agents' items.
#[utoipa::path(get, path = "/my/projects/{project}/events", tag = "events",
    params(("project" = String, Path), Watched, ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, description = "A stream of server-sent events", content_type = "text/event-stream", body = String)))]
async fn of_project(
    State(app): State<App>,
    Signed { ctx, signed_in }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<Watched>,
    headers: HeaderMap,
) -> Result<Response> {
    let reference = ProjectRef { id_or_name, workspace: query.workspace };
    let selection = selection(query.keys.as_deref())?;
    let stream = streams::of_project(&ctx, signed_in, reference, selection, start(&headers)?).await?;
    Ok(render(&app, stream))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WatchedByUser {
    /// Only events about these keys: `a,b,inv:*`.
    keys: Option<String>,
}

/// The events of all workspaces you are a member of.
#[utoipa::path(get, path = "/my/events", tag = "events", params(WatchedByUser, ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, description = "A stream of server-sent events", content_type = "text/event-stream", body = String)))]
async fn of_user(
    State(app): State<App>,
    Signed { ctx, signed_in }: Signed,
    Params(query): Params<WatchedByUser>,
    headers: HeaderMap,
) -> Result<Response> {
    let selection = selection(query.keys.as_deref())?;
    let stream = streams::of_user(&ctx, signed_in, selection, start(&headers)?).await?;
    Ok(render(&app, stream))
}

fn selection(keys: Option<&str>) -> Result<KeySelection> {
    Ok(keys.map(KeySelection::parse).transpose()?.unwrap_or_default())
}

fn start(headers: &HeaderMap) -> Result<Start> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(Start::Now) };
    let id = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    let refusal = || Refusal::invalid_field("Last-Event-ID", "`Last-Event-ID` is the number of an event");
    Ok(Start::After(id.ok_or_else(refusal)?))
}

fn render(app: &App, stream: EventStream) -> Response {
    let open = app.metrics.open_stream();
    let opening = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"retry: 1000\n\n"))]);
    let frames = stream::unfold((stream, open), |(mut stream, open): (EventStream, OpenStream)| async move {
        let item = stream.next().await?;
        Some((Ok(frame(&item)), (stream, open)))
    });
    let body = Body::from_stream(futures_util::StreamExt::chain(opening, frames));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that gather output would hold events back.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, body).into_response()
}

fn frame(item: &Item) -> Bytes {
    let text = match item {
        Item::Event { id, event } => format!("id: {id}\nevent: {}\ndata: {}\n\n", event.kind, event.data),
        // Without an id, so that a reader resumes after the last event that is in the log.
        Item::Whisper(whisper) => format!("event: {}\ndata: {}\n\n", whisper.kind, whisper.data),
        Item::Reset { id, at, session } => {
            let hint = "events before this were not kept: read the present state (list_keys), then go on from here";
            let mut data = json!({"type": "RESET", "at": at, "hint": hint});
            if let Some(session) = session {
                data["session"] = json!(session.id);
                data["rev"] = session.counters.rev.into();
            }
            format!("id: {id}\nevent: RESET\ndata: {data}\n\n")
        }
        Item::Heartbeat => return Bytes::from_static(b": heartbeat\n\n"),
    };
    Bytes::from(text)
}
