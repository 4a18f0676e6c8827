//! The skills of a workspace over HTTP.

use crate::app::App;
use crate::errors::Result;
use crate::paths::Segment;
use crate::signed::Signed;
use axum::Json;
use protocol::errors::ErrorBody;
use protocol::skills::SkillList;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list))
}

/// The skills that a workspace's agents can load. For its members and admins.
#[utoipa::path(get, path = "/workspaces/{workspace}/skills", tag = "workspaces", params(("workspace" = String, Path)),
    responses((status = 200, body = SkillList), (status = 404, body = ErrorBody, description = "WORKSPACE_NOT_FOUND")))]
async fn list(Signed { ctx, .. }: Signed, Segment(workspace): Segment) -> Result<Json<SkillList>> {
    let skills = service::skills::list(&ctx, &workspace).await?;
    Ok(Json(SkillList { items: skills.into_iter().map(Into::into).collect() }))
}
