//! Tool definitions for own loops.

use crate::app::App;
use crate::errors::Result;
use crate::query::Params;
use crate::signed::Signed;
use axum::Json;
use domain::tool_schemas::{self, Format};
use protocol::tools::ToolSchemas;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(schemas))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct InFormat {
    /// `openai` (the default), `anthropic` or `mcp`.
    format: Option<String>,
}

/// Tool definitions, ready to be given to a model.
#[utoipa::path(get, path = "/tools/schemas", tag = "shared context", params(InFormat), responses((status = 200, body = ToolSchemas)))]
async fn schemas(_: Signed, Params(query): Params<InFormat>) -> Result<Json<ToolSchemas>> {
    let name = query.format.unwrap_or_else(|| "openai".to_owned());
    let format = Format::parse(&name)?;
    let tools = tool_schemas::all().iter().map(|tool| tool.render(format)).collect();
    Ok(Json(ToolSchemas { format: name, tools }))
}
