//! Agents over HTTP. Where a path names an agent, it is an id or a name.

use crate::app::App;
use crate::bodies::{Patched, Posted};
use crate::errors::Result;
use crate::openapi::CreateAgent;
use crate::paths::{Segment, Segments};
use crate::query::{InWorkspace, Paged, PagedInWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use protocol::errors::ErrorBody;
use protocol::projects::{Agent, AgentChoice, AgentList, SharedAgent, SharedAgentList};
use service::agents::{self, AgentPath};
use service::paging::Page;
use service::projects::ProjectRef;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(get, update, delete)).routes(routes!(list_shared))
}

pub(crate) fn path((project, agent): (String, String), query: InWorkspace) -> AgentPath {
    let project = ProjectRef { id_or_name: project, workspace: query.workspace };
    AgentPath { project, id_or_name: agent }
}

/// Add an agent to a project. For the project's creator and admins.
#[utoipa::path(post, path = "/my/projects/{project}/agents", tag = "agents",
    params(("project" = String, Path), InWorkspace), request_body = CreateAgent,
    responses((status = 201, body = Agent), (status = 409, body = ErrorBody, description = "AGENT_EXISTS")))]
async fn create(
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
    Posted { ctx, input }: Posted<AgentChoice>,
) -> Result<(StatusCode, Json<Agent>)> {
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    Ok((StatusCode::CREATED, Json(agents::create(&ctx, project, input.into()).await?.into())))
}

/// The agents of a project, oldest first.
#[utoipa::path(get, path = "/my/projects/{project}/agents", tag = "agents",
    params(("project" = String, Path), PagedInWorkspace), responses((status = 200, body = AgentList)))]
async fn list(
    Signed { ctx, .. }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<PagedInWorkspace>,
) -> Result<Json<AgentList>> {
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    let listed = agents::list(&ctx, project, Page { limit: query.limit, cursor: query.cursor }).await?;
    Ok(Json(AgentList { items: listed.items.into_iter().map(Into::into).collect(), next_cursor: listed.next_cursor }))
}

/// One agent.
#[utoipa::path(get, path = "/my/projects/{project}/agents/{agent}", tag = "agents",
    params(("project" = String, Path), ("agent" = String, Path), InWorkspace),
    responses((status = 200, body = Agent), (status = 404, body = ErrorBody, description = "AGENT_NOT_FOUND")))]
async fn get(
    Signed { ctx, .. }: Signed,
    Segments(names): Segments<(String, String)>,
    Params(query): Params<InWorkspace>,
) -> Result<Json<Agent>> {
    Ok(Json(agents::get(&ctx, path(names, query)).await?.into()))
}

/// Change an agent. For the project's creator and admins.
#[utoipa::path(patch, path = "/my/projects/{project}/agents/{agent}", tag = "agents",
    params(("project" = String, Path), ("agent" = String, Path), InWorkspace), request_body = AgentChoice,
    responses((status = 200, body = Agent), (status = 409, body = ErrorBody, description = "AGENT_HAS_DATA, AGENT_EXISTS")))]
async fn update(
    Segments(names): Segments<(String, String)>,
    Params(query): Params<InWorkspace>,
    Patched { ctx, input }: Patched<AgentChoice>,
) -> Result<Json<Agent>> {
    Ok(Json(agents::update(&ctx, path(names, query), input.into()).await?.into()))
}

/// Remove an agent with its own items and tokens. For the project's creator and admins.
#[utoipa::path(delete, path = "/my/projects/{project}/agents/{agent}", tag = "agents",
    params(("project" = String, Path), ("agent" = String, Path), InWorkspace),
    responses((status = 204), (status = 404, body = ErrorBody, description = "AGENT_NOT_FOUND")))]
async fn delete(
    Signed { ctx, .. }: Signed,
    Segments(names): Segments<(String, String)>,
    Params(query): Params<InWorkspace>,
) -> Result<StatusCode> {
    agents::delete(&ctx, path(names, query)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The shared agents you may publish to: of your workspaces, and those shown to everyone.
#[utoipa::path(get, path = "/agents/shared", tag = "agents", params(Paged), responses((status = 200, body = SharedAgentList)))]
async fn list_shared(Signed { ctx, .. }: Signed, Params(query): Params<Paged>) -> Result<Json<SharedAgentList>> {
    let listed = agents::list_shared(&ctx, query.into()).await?;
    let items = listed.items.into_iter().map(|shared| SharedAgent::new(shared.agent, shared.is_member)).collect();
    Ok(Json(SharedAgentList { items, next_cursor: listed.next_cursor }))
}
