//! Who the caller is.

use crate::app::App;
use crate::errors::Result;
use crate::signed::Signed;
use axum::Json;
use protocol::me::{Me, MyWorkspace};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(me))
}

/// You: user, role, workspaces.
#[utoipa::path(get, path = "/me", tag = "identity", responses((status = 200, body = Me)))]
async fn me(Signed { ctx, .. }: Signed) -> Result<Json<Me>> {
    let memberships = service::users::memberships(&ctx).await?;
    let workspaces = memberships
        .into_iter()
        .map(|membership| MyWorkspace { id: membership.workspace.as_str().to_owned(), personal: membership.personal });
    Ok(Json(Me {
        user: ctx.caller.user.as_str().to_owned(),
        role: ctx.caller.role.as_str().to_owned(),
        participant: ctx.caller.participant.as_str().to_owned(),
        workspaces: workspaces.collect(),
    }))
}
