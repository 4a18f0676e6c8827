//! Sessions over HTTP.

use crate::app::App;
use crate::bodies::{Nothing, Posted};
use crate::errors::Result;
use crate::paths::Segment;
use crate::query::{InWorkspace, PagedInWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use protocol::errors::ErrorBody;
use protocol::sessions::{CreateSession, Prompt, Session, SessionList};
use service::paging::Page;
use service::sessions::{self, SessionRef};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, delete))
        .routes(routes!(archive))
        .routes(routes!(prompt))
}

/// Create a session.
#[utoipa::path(post, path = "/sessions", tag = "sessions", request_body = CreateSession,
    responses((status = 201, body = Session), (status = 409, body = ErrorBody, description = "SESSION_EXISTS")))]
async fn create(Posted { ctx, input }: Posted<CreateSession>) -> Result<(StatusCode, Json<Session>)> {
    let input = sessions::CreateSession {
        id: input.id,
        workspace: input.workspace,
        project: input.project,
        title: input.title,
        config: input.config.unwrap_or_default().into(),
    };
    Ok((StatusCode::CREATED, Json(sessions::create(&ctx, input).await?.into())))
}

/// List the sessions you can see.
#[utoipa::path(get, path = "/sessions", tag = "sessions", params(PagedInWorkspace), responses((status = 200, body = SessionList)))]
async fn list(Signed { ctx, .. }: Signed, Params(query): Params<PagedInWorkspace>) -> Result<Json<SessionList>> {
    let page = Page { limit: query.limit, cursor: query.cursor };
    let listed = sessions::list(&ctx, query.workspace.as_deref(), page).await?;
    let items = listed.items.into_iter().map(Into::into).collect();
    Ok(Json(SessionList { items, next_cursor: listed.next_cursor }))
}

/// One session.
#[utoipa::path(get, path = "/sessions/{session}", tag = "sessions", params(("session" = String, Path), InWorkspace),
    responses((status = 200, body = Session), (status = 404, body = ErrorBody, description = "SESSION_NOT_FOUND")))]
async fn get(
    Signed { ctx, .. }: Signed,
    Segment(session): Segment,
    Params(query): Params<InWorkspace>,
) -> Result<Json<Session>> {
    Ok(Json(sessions::get(&ctx, SessionRef::parse(&session, query.workspace)?).await?.into()))
}

/// Make a session immutable; it stays readable.
#[utoipa::path(post, path = "/sessions/{session}/archive", tag = "sessions", params(("session" = String, Path), InWorkspace),
    responses((status = 200, body = Session), (status = 409, body = ErrorBody, description = "SESSION_ARCHIVED")))]
async fn archive(
    Segment(session): Segment,
    Params(query): Params<InWorkspace>,
    Posted { ctx, .. }: Posted<Nothing>,
) -> Result<Json<Session>> {
    Ok(Json(sessions::archive(&ctx, SessionRef::parse(&session, query.workspace)?).await?.into()))
}

/// Remove a session with everything in it.
#[utoipa::path(delete, path = "/sessions/{session}", tag = "sessions", params(("session" = String, Path), InWorkspace),
    responses((status = 204), (status = 404, body = ErrorBody, description = "SESSION_NOT_FOUND")))]
async fn delete(
    Signed { ctx, .. }: Signed,
    Segment(session): Segment,
    Params(query): Params<InWorkspace>,
) -> Result<StatusCode> {
    sessions::delete(&ctx, SessionRef::parse(&session, query.workspace)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What an agent of this session is told. `Accept: text/plain` gives the bare text.
#[utoipa::path(get, path = "/sessions/{session}/prompt", tag = "shared context", params(("session" = String, Path), InWorkspace),
    responses((status = 200, body = Prompt)))]
async fn prompt(
    Signed { ctx, .. }: Signed,
    Segment(session): Segment,
    Params(query): Params<InWorkspace>,
    headers: HeaderMap,
) -> Result<Response> {
    let reference = SessionRef::parse(&session, query.workspace)?;
    let text = service::prompts::shared_context_guide(&ctx, reference).await?;
    let plain = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.starts_with("text/plain"));
    if plain {
        return Ok(text.into_response());
    }
    let participant = ctx.caller.participant.as_str().to_owned();
    Ok(Json(Prompt { session, participant, prompt: text }).into_response())
}
