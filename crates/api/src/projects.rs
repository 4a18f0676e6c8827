//! Projects over HTTP.

use crate::app::App;
use crate::bodies::{Patched, Posted};
use crate::errors::Result;
use crate::paths::Segment;
use crate::query::{InWorkspace, PagedInWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use protocol::errors::ErrorBody;
use protocol::projects::{ChangeProject, CreateProject, Project, ProjectList};
use service::paging::Page;
use service::projects::{self, ProjectRef, Staffed};
use service::{House, worker_spaces};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(get, update, delete))
}

fn shown(house: &House, staffed: Staffed) -> Project {
    let status = worker_spaces::status_of(house, &staffed.project.id);
    Project::new(staffed.project, staffed.agents, status.as_str())
}

/// Create a project with its four starter agents.
#[utoipa::path(post, path = "/my/projects", tag = "projects", request_body = CreateProject,
    responses((status = 201, body = Project), (status = 409, body = ErrorBody, description = "PROJECT_EXISTS")))]
async fn create(Posted { ctx, input }: Posted<CreateProject>) -> Result<(StatusCode, Json<Project>)> {
    let conventions = input.key_conventions;
    let input = projects::CreateProject {
        name: input.name,
        workspace: input.workspace,
        key_conventions: conventions.map(|list| list.into_iter().map(Into::into).collect()),
        approval: input.approval.map(Into::into).unwrap_or_default(),
    };
    let made = projects::create(&ctx, input).await?;
    Ok((StatusCode::CREATED, Json(shown(&ctx.house, made))))
}

/// The projects you can see, oldest first, with their agents but not what these are told.
#[utoipa::path(get, path = "/my/projects", tag = "projects", params(PagedInWorkspace),
    responses((status = 200, body = ProjectList)))]
async fn list(Signed { ctx, .. }: Signed, Params(query): Params<PagedInWorkspace>) -> Result<Json<ProjectList>> {
    let page = Page { limit: query.limit, cursor: query.cursor };
    let listed = projects::list(&ctx, query.workspace.as_deref(), page).await?;
    let items = listed.items.into_iter().map(|staffed| shown(&ctx.house, staffed)).collect();
    Ok(Json(ProjectList { items, next_cursor: listed.next_cursor }))
}

/// One project, by id or name.
#[utoipa::path(get, path = "/my/projects/{project}", tag = "projects", params(("project" = String, Path), InWorkspace),
    responses((status = 200, body = Project), (status = 404, body = ErrorBody, description = "PROJECT_NOT_FOUND")))]
async fn get(
    Signed { ctx, .. }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
) -> Result<Json<Project>> {
    let found = projects::get(&ctx, ProjectRef { id_or_name, workspace: query.workspace }).await?;
    Ok(Json(shown(&ctx.house, found)))
}

/// Change a project. For its creator and admins.
#[utoipa::path(patch, path = "/my/projects/{project}", tag = "projects", params(("project" = String, Path), InWorkspace),
    request_body = ChangeProject,
    responses((status = 200, body = Project), (status = 403, body = ErrorBody, description = "FORBIDDEN"),
        (status = 409, body = ErrorBody, description = "PROJECT_EXISTS")))]
async fn update(
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
    Patched { ctx, input }: Patched<ChangeProject>,
) -> Result<Json<Project>> {
    let conventions = input.key_conventions;
    let change = domain::projects::ProjectChange {
        name: input.name,
        key_conventions: conventions.map(|list| list.map(|list| list.into_iter().map(Into::into).collect())),
        approval: input.approval.map(Into::into),
    };
    let reference = ProjectRef { id_or_name, workspace: query.workspace };
    let changed = projects::update(&ctx, reference, change).await?;
    Ok(Json(shown(&ctx.house, changed)))
}

/// Remove a project with its agents and sessions. For its creator and admins.
#[utoipa::path(delete, path = "/my/projects/{project}", tag = "projects", params(("project" = String, Path), InWorkspace),
    responses((status = 204), (status = 403, body = ErrorBody, description = "FORBIDDEN")))]
async fn delete(
    Signed { ctx, .. }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
) -> Result<StatusCode> {
    projects::delete(&ctx, ProjectRef { id_or_name, workspace: query.workspace }).await?;
    Ok(StatusCode::NO_CONTENT)
}
