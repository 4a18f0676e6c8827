//! Tasks over HTTP.

use crate::app::App;
use crate::bodies::{Nothing, Posted};
use crate::errors::Result;
use crate::paths::{Segment, Segments};
use crate::query::{ByStatus, InWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use protocol::errors::ErrorBody;
use protocol::tasks::{Task, TaskList};
use service::paging::Page;
use service::projects::ProjectRef;
use service::tasks;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(cancel))
}

/// The tasks of a project, newest first.
#[utoipa::path(get, path = "/my/projects/{project}/tasks", tag = "tasks", params(("project" = String, Path), ByStatus),
    responses((status = 200, body = TaskList), (status = 404, body = ErrorBody, description = "PROJECT_NOT_FOUND")))]
async fn list(
    Signed { ctx, .. }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<ByStatus>,
) -> Result<Json<TaskList>> {
    let page = Page { limit: query.limit, cursor: query.cursor };
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    let listed = tasks::list(&ctx, project, query.status.as_deref(), page).await?;
    let items = listed.items.into_iter().map(Into::into).collect();
    Ok(Json(TaskList { items, next_cursor: listed.next_cursor }))
}

/// One task.
#[utoipa::path(get, path = "/my/projects/{project}/tasks/{task}", tag = "tasks",
    params(("project" = String, Path), ("task" = String, Path), InWorkspace),
    responses((status = 200, body = Task), (status = 404, body = ErrorBody, description = "TASK_NOT_FOUND")))]
async fn get(
    Signed { ctx, .. }: Signed,
    Segments((id_or_name, task)): Segments<(String, String)>,
    Params(query): Params<InWorkspace>,
) -> Result<Json<Task>> {
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    Ok(Json(tasks::get(&ctx, project, &task).await?.into()))
}

/// End a task that has not ended, queued or running.
#[utoipa::path(post, path = "/my/projects/{project}/tasks/{task}/cancel", tag = "tasks",
    params(("project" = String, Path), ("task" = String, Path), InWorkspace),
    responses((status = 200, body = Task), (status = 404, body = ErrorBody, description = "TASK_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "TASK_ENDED")))]
async fn cancel(
    Segments((id_or_name, task)): Segments<(String, String)>,
    Params(query): Params<InWorkspace>,
    Posted { ctx, .. }: Posted<Nothing>,
) -> Result<Json<Task>> {
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    Ok(Json(tasks::cancel(&ctx, project, &task).await?.into()))
}
