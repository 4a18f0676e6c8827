//! The tools: which there are for a caller, and how each is called. This table is the only place that knows them.

use super::askers::Asker;
use domain::requests::Request;
use domain::tool_schemas;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use service::shared_context;

const SHARED_CONTEXT: &str = "shared_context";

/// What this caller may use. Platform tools that belong to an agent (`workspace_*`) join here and in `call`.
pub(super) fn visible_to(asker: &Asker) -> Vec<Tool> {
    vec![shared_context_for(asker)]
}

/// Calls a tool; `None` = there is no tool of that name for this caller.
pub(super) async fn call(asker: &Asker, name: &str, arguments: Map<String, Value>) -> Option<service::Result<Value>> {
    match name {
        SHARED_CONTEXT => Some(use_shared_context(asker, arguments).await),
        _ => None,
    }
}

/// The tool as own loops get it; where the credential is for no session, the call has to name one.
fn shared_context_for(asker: &Asker) -> Tool {
    let mut tool = tool_schemas::shared_context();
    if asker.own_session().is_none() {
        let input = &mut tool.input;
        input["properties"]["session"] = json!({"type": "string", "description": "The session's id."});
        input["properties"]["workspace"] =
            json!({"type": "string", "description": "The session's workspace, where several sessions have that id."});
        if let Some(required) = input["required"].as_array_mut() {
            required.push(json!("session"));
        }
    }
    let schema = match tool.input {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    // One tool reads, writes and deletes; what it says about itself holds for the worst of these.
    let annotations = ToolAnnotations::with_title("Shared context")
        .read_only(false)
        .destructive(true)
        .idempotent(false)
        .open_world(false);
    Tool::new(tool.name, tool.description, schema).with_title("Shared context").with_annotations(annotations)
}

async fn use_shared_context(asker: &Asker, mut arguments: Map<String, Value>) -> service::Result<Value> {
    let session = asker.session_named_in(&mut arguments)?;
    let request = Request::parse(arguments)?;
    let answer = shared_context::execute(&asker.ctx, session, request).await?;
    Ok(serde_json::to_value(answer).unwrap_or(Value::Null))
}
