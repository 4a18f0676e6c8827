//! The platform's tools on behalf of an agent over HTTP, and one's own publications.

use crate::agents::path;
use crate::app::App;
use crate::bodies::{Envelope, Posted};
use crate::errors::Result;
use crate::openapi::WorkspaceToolRequest;
use crate::paths::{Segment, Segments};
use crate::query::{InWorkspace, Paged, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use domain::ids::PublicationId;
use protocol::errors::ErrorBody;
use protocol::publications::{Publication, PublicationList};
use service::items::{self, Acting};
use service::platform_tools::{self, ToolAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(call)).routes(routes!(list)).routes(routes!(recall))
}

/// Call a tool on behalf of an agent.
///
/// The tools are `workspace_list`, `workspace_read`, `workspace_write`, `workspace_delete`, `workspace_publish` and `skill_read`;
/// the body holds the tool's parameters, as `GET /tools/schemas` describes them.
#[utoipa::path(post, path = "/my/projects/{project}/agents/{agent}/tools/{tool}", tag = "items",
    params(("project" = String, Path), ("agent" = String, Path), ("tool" = String, Path), InWorkspace),
    request_body = WorkspaceToolRequest,
    responses(
        (status = 200, body = Object, description = "The tool's answer"),
        (status = 403, body = ErrorBody, description = "FORBIDDEN: published from a shared agent or to a private one"),
        (status = 404, body = ErrorBody, description = "ITEM_NOT_FOUND, SKILL_NOT_FOUND, AGENT_NOT_FOUND, PROJECT_NOT_FOUND, TOOL_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "VERSION_CONFLICT, ITEM_EXISTS, STORE_FULL"),
        (status = 413, body = ErrorBody, description = "VALUE_TOO_LARGE")))]
async fn call(
    Segments((project, agent, tool)): Segments<(String, String, String)>,
    Params(query): Params<InWorkspace>,
    Posted { ctx, input: Envelope(envelope) }: Posted<Envelope>,
) -> Result<Json<ToolAnswer>> {
    let acting = Acting::Named(path((project, agent), query));
    Ok(Json(platform_tools::call(&ctx, acting, &tool, envelope).await?))
}

/// What you published, oldest first, and what became of each copy.
#[utoipa::path(get, path = "/my/publications", tag = "items", params(Paged), responses((status = 200, body = PublicationList)))]
async fn list(Signed { ctx, .. }: Signed, Params(query): Params<Paged>) -> Result<Json<PublicationList>> {
    let listed = items::list_publications(&ctx, query.into()).await?;
    let items = listed.items.into_iter().map(|one| Publication::new(one.publication, one.state)).collect();
    Ok(Json(PublicationList { items, next_cursor: listed.next_cursor }))
}

/// Take a copy back, as long as nobody has changed it.
#[utoipa::path(delete, path = "/my/publications/{publication}", tag = "items", params(("publication" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody, description = "PUBLICATION_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "PUBLICATION_CHANGED")))]
async fn recall(Signed { ctx, .. }: Signed, Segment(publication): Segment) -> Result<StatusCode> {
    items::recall(&ctx, PublicationId::parse(&publication)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
