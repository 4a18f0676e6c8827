//! The OpenAPI document: what utoipa gathers from the doors, with what it cannot know.

use crate::app::App;
use crate::router;
use axum::Json;
use domain::Code;
use domain::tool_schemas::Tool;
use serde_json::{Value, json};
use std::sync::LazyLock;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const DESCRIPTION: &str = "A workspace platform for AI agents. Errors are `{\"error\": {\"code\", \"message\", \"details\"}}`; \
the codes are listed under `ErrorCode`. A trailing slash makes no difference. `Idempotency-Key` is understood on every POST that creates or changes something, except those that hand out a secret.";

#[derive(OpenApi)]
#[openapi(
    info(title = "Longhouse", description = DESCRIPTION),
    modifiers(&Security),
    security(("bearer" = []), ("cookie" = [])),
    components(schemas(SharedContextRequest, WorkspaceToolRequest, CreateAgent, ErrorCode))
)]
pub(crate) struct Contract;

struct Security;

impl Modify for Security {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
        let cookie = ApiKey::Cookie(ApiKeyValue::new(crate::signed::COOKIE));
        components.add_security_scheme("cookie", SecurityScheme::ApiKey(cookie));
    }
}

/// The envelope of the `shared_context` tool. Filled in from the schema that models are given.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[allow(dead_code)]
pub(crate) struct SharedContextRequest(Value);

/// The parameters of one of the tools that are called on behalf of an agent. Filled in from the schemas that models are given.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[allow(dead_code)]
pub(crate) struct WorkspaceToolRequest(Value);

/// `AgentChoice` where the name is not left out.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[allow(dead_code)]
pub(crate) struct CreateAgent(Value);

/// Every code an error can carry.
#[derive(ToSchema)]
#[schema(value_type = String)]
#[allow(dead_code)]
pub(crate) struct ErrorCode(String);

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(serve))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "house", security(()), responses((status = 200, body = Object)))]
async fn serve() -> Json<&'static Value> {
    Json(document())
}

/// Gives every operation a name of its own, such as `post_sessions_session_archive`, for those who generate clients.
fn name_operations(paths: &mut Value) {
    for (path, methods) in paths.as_object_mut().into_iter().flatten() {
        let words: Vec<&str> =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        for (method, operation) in methods.as_object_mut().into_iter().flatten() {
            operation["operationId"] = json!([&[method.as_str()], words.as_slice()].concat().join("_"));
        }
    }
}

/// The whole document.
pub fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(build);
    &DOCUMENT
}

/// What a tool takes, as a body over HTTP.
fn envelope(tool: Tool) -> Value {
    let mut schema = tool.input;
    schema["title"] = json!(tool.name);
    schema["properties"]["idempotency_key"] =
        json!({"type": "string", "description": "Same as the header Idempotency-Key."});
    schema
}

fn build() -> Value {
    let (_, openapi) = router::doors().split_for_parts();
    let mut document = serde_json::to_value(&openapi).unwrap_or(Value::Null);
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    let schemas = &mut document["components"]["schemas"];
    schemas["SharedContextRequest"] = envelope(domain::tool_schemas::shared_context());
    let tools: Vec<_> = domain::tool_schemas::of_agents().into_iter().map(envelope).collect();
    schemas["WorkspaceToolRequest"] = json!({"anyOf": tools});
    schemas["CreateAgent"] = schemas["AgentChoice"].clone();
    schemas["CreateAgent"]["required"] = json!(["name"]);
    name_operations(&mut document["paths"]);
    let schemas = &mut document["components"]["schemas"];
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    schemas["ErrorCode"] = json!({"type": "string", "enum": codes});
    schemas["ErrorDetail"]["properties"]["code"] = json!({"$ref": "#/components/schemas/ErrorCode"});
    document
}
