//! The policy over HTTP: why a tool may be used, or why not.

use crate::app::App;
use crate::bodies::Posted;
use crate::errors::Result;
use crate::paths::Segment;
use axum::Json;
use protocol::errors::ErrorBody;
use protocol::policy::{ExplainPolicy, PolicyDecision, PolicyExplained};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(explain))
}

/// Whether somebody may use a tool in a workspace, and what decides it.
///
/// From what is declared: nothing is started for it. Members ask about themselves, admins about everybody. `{workspace}` may
/// be `personal`, your own.
#[utoipa::path(post, path = "/workspaces/{workspace}/policy/explain", tag = "workspaces", params(("workspace" = String, Path)),
    request_body = ExplainPolicy,
    responses((status = 200, body = PolicyExplained), (status = 403, body = ErrorBody, description = "FORBIDDEN: about somebody else"),
        (status = 404, body = ErrorBody, description = "WORKSPACE_NOT_FOUND, USER_NOT_FOUND")))]
async fn explain(
    Segment(workspace): Segment,
    Posted { ctx, input }: Posted<ExplainPolicy>,
) -> Result<Json<PolicyExplained>> {
    let explained = service::policy::explain(&ctx, &workspace, &input.user, &input.tool).await?;
    Ok(Json(PolicyExplained {
        decision: if explained.allowed { PolicyDecision::Allow } else { PolicyDecision::Deny },
        layer: explained.layer.as_str().to_owned(),
        rule: explained.rule,
        detail: explained.detail,
    }))
}
