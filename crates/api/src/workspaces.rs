//! Workspaces over HTTP: for their members to look at, for admins to change.

use crate::app::App;
use crate::bodies::{Nothing, Patched, Posted};
use crate::errors::Result;
use crate::paths::{Segment, Segments};
use crate::query::{Paged, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use domain::ids::UserId;
use domain::workspaces::Source;
use protocol::errors::ErrorBody;
use protocol::workspaces::{AddBinding, Binding, ChangeWorkspace, CreateWorkspace, Member, Workspace, WorkspaceList};
use serde::Deserialize;
use service::paging::Listed;
use service::workspaces;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(create, list_all))
        .routes(routes!(get_any, update, delete))
        .routes(routes!(add_member, remove_member))
        .routes(routes!(bind))
        .routes(routes!(unbind))
}

fn words(sources: &[Source]) -> Vec<String> {
    sources.iter().map(|source| source.as_str().to_owned()).collect()
}

fn render(workspace: workspaces::Workspace) -> Workspace {
    let settings = workspace.settings;
    let member = |member: workspaces::Member| Member {
        user: member.user.as_str().to_owned(),
        role: member.role.as_str().to_owned(),
        defined_in: words(&member.sources),
    };
    Workspace {
        id: workspace.id.as_str().to_owned(),
        personal: workspace.personal_of.is_some(),
        open: !workspace.sources.is_empty(),
        defined_in: words(&workspace.sources),
        description: settings.description,
        model: settings.model,
        nodes: settings.nodes.unwrap_or_default(),
        tools: settings.tools.unwrap_or_default().into(),
        skills: settings.skills.unwrap_or_default(),
        budget: settings.budget.map(Into::into),
        members: workspace.members.into_iter().map(member).collect(),
        bindings: workspace.bindings.into_iter().map(|bound| Binding::new(bound.binding, bound.source)).collect(),
        home_project: workspace.home_project.map(|id| id.as_str().to_owned()),
        key_conventions: settings.key_conventions.map(|list| list.into_iter().map(Into::into).collect()),
        created_at: workspace.created_at,
    }
}

fn render_list(listed: Listed<workspaces::Workspace>) -> Json<WorkspaceList> {
    let items = listed.items.into_iter().map(render).collect();
    Json(WorkspaceList { items, next_cursor: listed.next_cursor })
}

/// The workspaces you belong to, your own among them.
#[utoipa::path(get, path = "/workspaces", tag = "workspaces", params(Paged),
    responses((status = 200, body = WorkspaceList)))]
async fn list(Signed { ctx, .. }: Signed, Params(query): Params<Paged>) -> Result<Json<WorkspaceList>> {
    Ok(render_list(workspaces::list(&ctx, query.into()).await?))
}

/// One workspace: members, tools, skills, budget, and who said so. For its members and admins; `personal` is your own.
#[utoipa::path(get, path = "/workspaces/{workspace}", tag = "workspaces", params(("workspace" = String, Path)),
    responses((status = 200, body = Workspace), (status = 404, body = ErrorBody, description = "WORKSPACE_NOT_FOUND")))]
async fn get(Signed { ctx, .. }: Signed, Segment(workspace): Segment) -> Result<Json<Workspace>> {
    Ok(Json(render(workspaces::get(&ctx, &workspace).await?)))
}

/// Make a workspace while the house runs.
#[utoipa::path(post, path = "/admin/workspaces", tag = "admin", request_body = CreateWorkspace,
    responses((status = 201, body = Workspace), (status = 409, body = ErrorBody, description = "WORKSPACE_EXISTS")))]
async fn create(Posted { ctx, input }: Posted<CreateWorkspace>) -> Result<(StatusCode, Json<Workspace>)> {
    let members = input.members.iter().map(|name| UserId::parse(name)).collect::<domain::Result<_>>()?;
    let name = input.name.clone();
    let settings = ChangeWorkspace::from(input).try_into()?;
    let made = workspaces::create(&ctx, workspaces::CreateWorkspace { name, members, settings }).await?;
    Ok((StatusCode::CREATED, Json(render(made))))
}

/// Every workspace that is nobody's own, closed ones too.
#[utoipa::path(get, path = "/admin/workspaces", tag = "admin", params(Paged),
    responses((status = 200, body = WorkspaceList)))]
async fn list_all(Signed { ctx, .. }: Signed, Params(query): Params<Paged>) -> Result<Json<WorkspaceList>> {
    Ok(render_list(workspaces::list_all(&ctx, query.into()).await?))
}

/// Any workspace.
#[utoipa::path(get, path = "/admin/workspaces/{workspace}", tag = "admin", params(("workspace" = String, Path)),
    responses((status = 200, body = Workspace), (status = 404, body = ErrorBody, description = "WORKSPACE_NOT_FOUND")))]
async fn get_any(Signed { ctx, .. }: Signed, Segment(workspace): Segment) -> Result<Json<Workspace>> {
    ctx.caller.require_admin()?;
    Ok(Json(render(workspaces::get(&ctx, &workspace).await?)))
}

/// Change a workspace while the house runs; somebody's own too. What the configuration file says is changed there.
#[utoipa::path(patch, path = "/admin/workspaces/{workspace}", tag = "admin", params(("workspace" = String, Path)),
    request_body = ChangeWorkspace,
    responses((status = 200, body = Workspace), (status = 409, body = ErrorBody, description = "DEFINED_IN_FILE")))]
async fn update(
    Segment(workspace): Segment,
    Patched { ctx, input }: Patched<ChangeWorkspace>,
) -> Result<Json<Workspace>> {
    Ok(Json(render(workspaces::update(&ctx, &workspace, input.try_into()?).await?)))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WithData {
    /// Delete its projects and sessions too.
    #[serde(default)]
    with_data: bool,
}

/// Delete a workspace that the configuration file does not name. Audit and ledger stay.
#[utoipa::path(delete, path = "/admin/workspaces/{workspace}", tag = "admin", params(("workspace" = String, Path), WithData),
    responses((status = 204), (status = 409, body = ErrorBody, description = "DEFINED_IN_FILE, WORKSPACE_HAS_DATA")))]
async fn delete(
    Signed { ctx, .. }: Signed,
    Segment(workspace): Segment,
    Params(query): Params<WithData>,
) -> Result<StatusCode> {
    workspaces::delete(&ctx, &workspace, query.with_data).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make somebody a member. Saying it twice makes no difference.
#[utoipa::path(put, path = "/admin/workspaces/{workspace}/members/{user}", tag = "admin",
    params(("workspace" = String, Path), ("user" = String, Path)),
    responses((status = 200, body = Workspace), (status = 404, body = ErrorBody, description = "USER_NOT_FOUND")))]
async fn add_member(
    Segments((workspace, user)): Segments<(String, String)>,
    Patched { ctx, .. }: Patched<Nothing>,
) -> Result<Json<Workspace>> {
    Ok(Json(render(workspaces::add_member(&ctx, &workspace, UserId::parse(&user)?).await?)))
}

/// Take somebody out of a workspace, everywhere at once, open streams included.
#[utoipa::path(delete, path = "/admin/workspaces/{workspace}/members/{user}", tag = "admin",
    params(("workspace" = String, Path), ("user" = String, Path)),
    responses((status = 200, body = Workspace),
        (status = 404, body = ErrorBody, description = "MEMBER_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "DEFINED_IN_FILE")))]
async fn remove_member(
    Signed { ctx, .. }: Signed,
    Segments((workspace, user)): Segments<(String, String)>,
) -> Result<Json<Workspace>> {
    Ok(Json(render(workspaces::remove_member(&ctx, &workspace, UserId::parse(&user)?).await?)))
}

/// Bind a place of a channel to a workspace.
#[utoipa::path(post, path = "/admin/workspaces/{workspace}/bindings", tag = "admin", params(("workspace" = String, Path)),
    request_body = AddBinding,
    responses((status = 200, body = Workspace), (status = 409, body = ErrorBody, description = "BINDING_EXISTS, DEFINED_IN_FILE")))]
async fn bind(Segment(workspace): Segment, Posted { ctx, input }: Posted<AddBinding>) -> Result<Json<Workspace>> {
    Ok(Json(render(workspaces::bind(&ctx, &workspace, input.into()).await?)))
}

/// Give a place back, by its one text.
#[utoipa::path(delete, path = "/admin/workspaces/{workspace}/bindings/{place}", tag = "admin",
    params(("workspace" = String, Path), ("place" = String, Path)),
    responses((status = 200, body = Workspace), (status = 404, body = ErrorBody, description = "BINDING_NOT_FOUND")))]
async fn unbind(
    Signed { ctx, .. }: Signed,
    Segments((workspace, place)): Segments<(String, String)>,
) -> Result<Json<Workspace>> {
    Ok(Json(render(workspaces::unbind(&ctx, &workspace, &place).await?)))
}
