//! Plugins over HTTP, for those who run the house: how they stand, and a yes to what is new or has changed.

use crate::app::App;
use crate::bodies::Posted;
use crate::errors::Result;
use crate::paths::Segment;
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use protocol::errors::ErrorBody;
use protocol::plugins::{AcceptTool, LeftOutTool, Plugin, PluginList, PluginTool};
use service::plugins::{self, Accept, PluginLook, ToolLook};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(accept))
}

/// The plugins of the file: how they stand, their tools, and which of these wait for you.
#[utoipa::path(get, path = "/admin/plugins", tag = "admin", responses((status = 200, body = PluginList)))]
async fn list(Signed { ctx, .. }: Signed) -> Result<Json<PluginList>> {
    let items = plugins::list(&ctx).await?.into_iter().map(shown).collect();
    Ok(Json(PluginList { items, next_cursor: None }))
}

/// Accept a tool of a plugin as it is now.
#[utoipa::path(post, path = "/admin/plugins/{plugin}/accept", tag = "admin", params(("plugin" = String, Path)),
    request_body = AcceptTool,
    responses((status = 204), (status = 404, body = ErrorBody, description = "TOOL_NOT_FOUND"),
        (status = 409, body = ErrorBody, description = "DIGEST_MISMATCH: it has changed since you looked")))]
async fn accept(Segment(plugin): Segment, Posted { ctx, input }: Posted<AcceptTool>) -> Result<StatusCode> {
    let AcceptTool { tool, fingerprint } = input;
    plugins::accept(&ctx, Accept { plugin, tool, fingerprint }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn shown(look: PluginLook) -> Plugin {
    let PluginLook { name, listed, last_words, tools, left_out } = look;
    let left_out = left_out.into_iter().map(|one| LeftOutTool { name: one.own_name, why: one.obstacle.to_string() });
    Plugin {
        name,
        state: listed.state.to_owned(),
        why: listed.why,
        server: listed.server,
        times_away: listed.times_away,
        last_trouble: listed.last_trouble,
        last_words,
        is_cut: listed.is_cut,
        tools: tools.into_iter().map(shown_tool).collect(),
        left_out: left_out.collect(),
    }
}

fn shown_tool(look: ToolLook) -> PluginTool {
    let ToolLook { name, standing, description, fingerprint, accepted_description, accepted_by, waits_for_a_person } =
        look;
    PluginTool {
        name,
        status: standing.as_str().to_owned(),
        description,
        fingerprint,
        accepted_description,
        accepted_by: accepted_by.map(|user| user.as_str().to_owned()),
        waits_for_a_person,
    }
}
