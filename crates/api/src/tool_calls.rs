//! Calls of tools on people's machines and of plugins, over HTTP: for those who wish for them, and for the nodes that make them.

use crate::app::App;
use crate::bodies::{Posted, PostedLarge};
use crate::errors::Result;
use crate::messages::wait;
use crate::paths::{Segment, Segments};
use crate::query::{ByStatus, InWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use domain::Refusal;
use domain::callers::Credential;
use domain::messages::Failure;
use domain::risks::made_visible_in_a_line;
use domain::tool_calls as words;
use protocol::errors::ErrorBody;
use protocol::tool_calls::{
    AcceptCall, AvailableTool, AvailableTools, CallResult, ExecuteTool, Preview, ToolCall, ToolCallList,
};
use service::Ctx;
use service::paging::Page;
use service::projects::ProjectRef;
use service::tool_calls::{self, Execute, RunsOn, Said};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const NO_DIFF_LONGEST: usize = 200;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(available))
        .routes(routes!(execute))
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(preview))
        .routes(routes!(accept))
        .routes(routes!(result))
}

/// The tools that you may use on your machines, those of plugins, and the platform's own.
#[utoipa::path(get, path = "/my/projects/{project}/tools/available", tag = "tools",
    params(("project" = String, Path), InWorkspace),
    responses((status = 200, body = AvailableTools), (status = 404, body = ErrorBody, description = "PROJECT_NOT_FOUND")))]
async fn available(
    Signed { ctx, .. }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
) -> Result<Json<AvailableTools>> {
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    let items = tool_calls::available(&ctx, project).await?.into_iter().map(described).collect();
    Ok(Json(AvailableTools { items, next_cursor: None }))
}

fn described(offer: tool_calls::Offer) -> AvailableTool {
    let tool_calls::Offer { name, description, schema, capability, risk, runs_on } = offer;
    let (runs_on, plugin) = match runs_on {
        RunsOn::Node => ("node", None),
        RunsOn::Platform => ("platform", None),
        RunsOn::Plugin(plugin) => ("plugin", Some(plugin)),
    };
    let (risk, runs_on) = (risk.as_str().to_owned(), runs_on.to_owned());
    AvailableTool { name, description, schema, capability, risk, runs_on, plugin }
}

/// Have something done on a machine of yours, or by a plugin. With `wait_s` the answer comes when it has ended.
#[utoipa::path(post, path = "/my/projects/{project}/tools/execute", tag = "tools",
    params(("project" = String, Path), InWorkspace), request_body = ExecuteTool,
    responses((status = 200, body = ToolCall, description = "It has ended"), (status = 202, body = ToolCall, description = "It is under way"),
        (status = 404, body = ErrorBody, description = "PROJECT_NOT_FOUND, AGENT_NOT_FOUND, NODE_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "NODE_AMBIGUOUS"), (status = 503, body = ErrorBody, description = "QUEUE_FULL")))]
async fn execute(
    Segment(id_or_name): Segment,
    Params(query): Params<InWorkspace>,
    PostedLarge(Posted { ctx, input }): PostedLarge<ExecuteTool>,
) -> Result<(StatusCode, Json<ToolCall>)> {
    let patience = input.wait_s.as_ref().map(wait).transpose()?.unwrap_or_default();
    let ExecuteTool { agent, session, tool, params, node, .. } = input;
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    let proposed = tool_calls::execute(&ctx, project, Execute { agent, session, tool, params, node }).await?;
    let call = tool_calls::wait(&ctx, &proposed, patience).await?;
    let status = if call.status.has_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(told(&ctx, call).await?)))
}

/// A call with the names of its machine: for people. A node knows its own.
async fn told(ctx: &Ctx, call: words::ToolCall) -> Result<ToolCall> {
    let machines = tool_calls::machines(ctx, std::iter::once(&call)).await?;
    let node = call.delivery.node.as_ref().and_then(|id| machines.get(id));
    Ok(ToolCall::from(call).on(node, made_visible_in_a_line))
}

/// Your calls in a project, newest first. To a node: those that it has to do with, oldest first.
///
/// Of what is long you get the beginning, with `cut`; one by itself is whole, and so is what a node gets.
#[utoipa::path(get, path = "/my/projects/{project}/tools", tag = "tools", params(("project" = String, Path), ByStatus),
    responses((status = 200, body = ToolCallList), (status = 404, body = ErrorBody, description = "PROJECT_NOT_FOUND")))]
async fn list(
    Signed { ctx, .. }: Signed,
    Segment(id_or_name): Segment,
    Params(query): Params<ByStatus>,
) -> Result<Json<ToolCallList>> {
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    if is_node(&ctx) {
        let calls = tool_calls::open_calls(&ctx, &project).await?;
        return Ok(Json(ToolCallList { items: calls.into_iter().map(Into::into).collect(), next_cursor: None }));
    }
    let page = Page { limit: query.limit, cursor: query.cursor };
    let listed = tool_calls::list(&ctx, project, query.status.as_deref(), page).await?;
    let machines = tool_calls::machines(&ctx, listed.items.iter().map(|brief| &brief.call)).await?;
    let told = |brief: words::Brief| {
        let node = brief.call.delivery.node.as_ref().and_then(|id| machines.get(id));
        ToolCall::from(brief).on(node, made_visible_in_a_line)
    };
    let items = listed.items.into_iter().map(told).collect();
    Ok(Json(ToolCallList { items, next_cursor: listed.next_cursor }))
}

fn is_node(ctx: &Ctx) -> bool {
    matches!(ctx.caller.credential, Credential::Node { .. })
}

/// One call.
#[utoipa::path(get, path = "/my/projects/{project}/tools/{call}", tag = "tools",
    params(("project" = String, Path), ("call" = String, Path), InWorkspace),
    responses((status = 200, body = ToolCall), (status = 404, body = ErrorBody, description = "TOOL_CALL_NOT_FOUND")))]
async fn get(
    Signed { ctx, .. }: Signed,
    Segments((id_or_name, call)): Segments<(String, String)>,
    Params(query): Params<InWorkspace>,
) -> Result<Json<ToolCall>> {
    let project = ProjectRef { id_or_name, workspace: query.workspace };
    if is_node(&ctx) {
        return Ok(Json(tool_calls::get_as_node(&ctx, &project, &call).await?.into()));
    }
    let call = tool_calls::get(&ctx, project, &call).await?;
    Ok(Json(told(&ctx, call).await?))
}

/// For nodes: what a call would do, found out without doing it.
#[utoipa::path(post, path = "/my/projects/{project}/tools/{call}/preview", tag = "tools",
    params(("project" = String, Path), ("call" = String, Path)), request_body = Preview,
    responses((status = 200, body = ToolCall), (status = 404, body = ErrorBody, description = "TOOL_CALL_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "CALL_MOVED_ON")))]
async fn preview(
    Segments((id_or_name, call)): Segments<(String, String)>,
    PostedLarge(Posted { ctx, input }): PostedLarge<Preview>,
) -> Result<Json<ToolCall>> {
    let Preview {
        exists,
        path,
        base_sha256,
        diff,
        diff_cut,
        no_diff,
        program,
        starts,
        cwd,
        environment,
        network,
        refusal,
    } = input;
    if let Some(why) = &no_diff {
        domain::sessions::check_text("no_diff", why, NO_DIFF_LONGEST)?;
    }
    if let Some(path) = &path {
        domain::paths::normal(path)?;
    }
    let refusal = refusal.map(failure).transpose()?;
    let preview = words::Preview {
        exists,
        path,
        base_sha256,
        diff,
        diff_cut,
        no_diff,
        program,
        starts,
        cwd,
        environment,
        network,
        refusal,
    };
    hear(&ctx, id_or_name, &call, Said::Preview(preview)).await
}

/// For nodes: may this call begin? Nothing is done before a yes.
#[utoipa::path(post, path = "/my/projects/{project}/tools/{call}/accept", tag = "tools",
    params(("project" = String, Path), ("call" = String, Path)), request_body = AcceptCall,
    responses((status = 200, body = ToolCall), (status = 404, body = ErrorBody, description = "TOOL_CALL_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "CALL_MOVED_ON, DIGEST_MISMATCH")))]
async fn accept(
    Segments((id_or_name, call)): Segments<(String, String)>,
    Posted { ctx, input }: Posted<AcceptCall>,
) -> Result<Json<ToolCall>> {
    let AcceptCall { attempt, digest, started } = input;
    hear(&ctx, id_or_name, &call, Said::Accept { attempt, digest, started }).await
}

/// For nodes: how a call ended.
#[utoipa::path(post, path = "/my/projects/{project}/tools/{call}/result", tag = "tools",
    params(("project" = String, Path), ("call" = String, Path)), request_body = CallResult,
    responses((status = 200, body = ToolCall), (status = 404, body = ErrorBody, description = "TOOL_CALL_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "CALL_MOVED_ON")))]
async fn result(
    Segments((id_or_name, call)): Segments<(String, String)>,
    PostedLarge(Posted { ctx, input }): PostedLarge<CallResult>,
) -> Result<Json<ToolCall>> {
    let CallResult { attempt, result, status, reason } = input;
    let said = match status.as_deref().unwrap_or("completed") {
        "completed" => Said::Result { attempt, result, broke_off: false },
        "failed" => Said::Result { attempt, result, broke_off: true },
        "unknown" => Said::Unknown { attempt },
        "refused" => {
            let missing = || Refusal::invalid_field("reason", "a refusal has a `reason`");
            Said::Refuse { attempt, why: failure(reason.ok_or_else(missing)?)? }
        }
        _ => {
            let message = "`status` is completed, failed, refused or unknown";
            return Err(Refusal::invalid_field("status", message).into());
        }
    };
    hear(&ctx, id_or_name, &call, said).await
}

async fn hear(ctx: &Ctx, id_or_name: String, call: &str, said: Said) -> Result<Json<ToolCall>> {
    let project = ProjectRef { id_or_name, workspace: None };
    Ok(Json(tool_calls::hear(ctx, project, call, said).await?.into()))
}

/// What a node says went wrong, in codes that this house knows.
fn failure(said: protocol::messages::Failure) -> Result<Failure> {
    Ok(domain::nodes::failure(&said.code, said.message)?)
}
