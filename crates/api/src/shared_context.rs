//! The `shared_context` tool over HTTP.

use crate::app::App;
use crate::bodies::{Envelope, Posted};
use crate::errors::Result;
use crate::openapi::SharedContextRequest;
use crate::paths::Segment;
use crate::query::{InWorkspace, Params};
use axum::Json;
use domain::answers::Answer;
use domain::requests::Request;
use protocol::errors::ErrorBody;
use service::sessions::SessionRef;
use service::shared_context;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(execute))
}

/// Read and write a session's shared context. One envelope, `{"action": …}`, for every action.
#[utoipa::path(post, path = "/sessions/{session}/shared_context", tag = "shared context",
    params(("session" = String, Path), InWorkspace), request_body = SharedContextRequest,
    responses(
        (status = 200, body = Object, description = "The action's answer"),
        (status = 404, body = ErrorBody, description = "KEY_NOT_FOUND, SESSION_NOT_FOUND, SNAPSHOT_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "VERSION_CONFLICT, STORE_FULL, SESSION_ARCHIVED, SNAPSHOT_EXISTS"),
        (status = 413, body = ErrorBody, description = "VALUE_TOO_LARGE")))]
async fn execute(
    Segment(session): Segment,
    Params(query): Params<InWorkspace>,
    Posted { ctx, input: Envelope(envelope) }: Posted<Envelope>,
) -> Result<Json<Answer>> {
    let reference = SessionRef::parse(&session, query.workspace)?;
    let request = Request::parse(envelope)?;
    Ok(Json(shared_context::execute(&ctx, reference, request).await?))
}
