//! Worker spaces over HTTP.

use crate::app::App;
use crate::bodies::{Nothing, Posted};
use crate::errors::Result;
use crate::paths::Segment;
use crate::query::{InWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use domain::ids::UserId;
use protocol::errors::ErrorBody;
use protocol::worker_spaces::{WorkerSpace, WorkerSpaceMetrics};
use service::projects::ProjectRef;
use service::worker_spaces::{self, SpaceView};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(look)).routes(routes!(cleanup)).routes(routes!(reset))
}

fn render(view: SpaceView, user: &UserId) -> Json<WorkerSpace> {
    let SpaceView { status, health, reasons, metrics, last_active_at } = view;
    let durations = metrics.durations;
    let metrics = WorkerSpaceMetrics {
        agents: metrics.agents,
        active_agents: metrics.active_agents,
        cache_size: metrics.cache_size,
        cache_hits: metrics.cache_hits,
        cache_misses: metrics.cache_misses,
        queued_tasks: metrics.tasks.queued,
        running_tasks: metrics.tasks.running,
        waiting_tasks: metrics.tasks.waiting,
        tasks_ended: durations.count,
        mean_task_ms: durations.total_ms.checked_div(durations.count).unwrap_or(0),
        longest_task_ms: durations.longest_ms,
    };
    Json(WorkerSpace {
        status: status.as_str().to_owned(),
        health: health.as_str().to_owned(),
        reasons,
        metrics,
        user_prefix: format!("user{user}"),
        last_active_at,
    })
}

/// The live side of a project.
#[utoipa::path(get, path = "/my/projects/{project}/worker-space", tag = "worker spaces", params(("project" = String, Path), InWorkspace),
    responses((status = 200, body = WorkerSpace), (status = 404, body = ErrorBody, description = "PROJECT_NOT_FOUND")))]
async fn look(
    Signed { ctx, .. }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
) -> Result<Json<WorkerSpace>> {
    let view = worker_spaces::look(&ctx, ProjectRef { id_or_name, workspace: query.workspace }).await?;
    Ok(render(view, &ctx.caller.user))
}

/// End it: what runs may finish for half a minute, what is queued is cancelled. For the project's creator and admins.
#[utoipa::path(post, path = "/my/projects/{project}/worker-space/cleanup", tag = "worker spaces", params(("project" = String, Path), InWorkspace),
    responses((status = 200, body = WorkerSpace), (status = 403, body = ErrorBody, description = "FORBIDDEN")))]
async fn cleanup(
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
    Posted { ctx, .. }: Posted<Nothing>,
) -> Result<Json<WorkerSpace>> {
    let view = worker_spaces::cleanup(&ctx, ProjectRef { id_or_name, workspace: query.workspace }).await?;
    Ok(render(view, &ctx.caller.user))
}

/// Stop everything in it now, free it, begin again. For admins, whatever the project.
#[utoipa::path(post, path = "/admin/projects/{project}/worker-space/reset", tag = "worker spaces", params(("project" = String, Path), InWorkspace),
    responses((status = 200, body = WorkerSpace), (status = 403, body = ErrorBody, description = "FORBIDDEN")))]
async fn reset(
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
    Posted { ctx, .. }: Posted<Nothing>,
) -> Result<Json<WorkerSpace>> {
    let view = worker_spaces::reset(&ctx, ProjectRef { id_or_name, workspace: query.workspace }).await?;
    Ok(render(view, &ctx.caller.user))
}
