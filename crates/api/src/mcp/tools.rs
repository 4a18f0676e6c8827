//! The tools: which there are for a caller, and how each is called. This table is the only place that knows them; those on
//! people's machines, which may have to wait, are in `node_tools`.

use super::askers::Asker;
use super::node_tools;
use domain::platform_tools::{
    OF_AGENTS, SKILL_READ, WORKSPACE_DELETE, WORKSPACE_LIST, WORKSPACE_PUBLISH, WORKSPACE_READ,
};
use domain::requests::Request;
use domain::tool_schemas::{self, SHARED_CONTEXT, Tool as Described};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use service::items::Acting;
use service::paging::Page;
use service::{agents, platform_tools, shared_context, skills};

/// How many targets a description names.
const TARGETS_NAMED: usize = 20;
const TARGETS_READ: u64 = 500;

/// What this caller may use.
pub(super) async fn visible_to(asker: &Asker) -> service::Result<Vec<Tool>> {
    let allowed = platform_tools::of_own_agent(&asker.ctx).await?;
    let mut tools = Vec::new();
    if !asker.is_agent() || allowed.contains(&SHARED_CONTEXT) {
        tools.push(shared_context_for(asker));
    }
    for tool in tool_schemas::of_agents().into_iter().filter(|tool| allowed.contains(&tool.name)) {
        let addition = match tool.name {
            WORKSPACE_PUBLISH => targets(asker).await?,
            SKILL_READ => format!("\n\n{}", skills::told_to_own_agent(&asker.ctx).await?),
            _ => String::new(),
        };
        tools.push(agents_tool(tool, &addition));
    }
    tools.extend(node_tools::visible_to(asker).await?);
    Ok(tools)
}

/// Calls a tool; `None` = there is no tool of that name.
pub(super) async fn call(asker: &Asker, name: &str, arguments: Map<String, Value>) -> Option<service::Result<Value>> {
    match name {
        SHARED_CONTEXT => Some(use_shared_context(asker, arguments).await),
        name if OF_AGENTS.contains(&domain::platform_tools::find(name)?.family) => {
            Some(use_platform_tool(asker, name, arguments).await)
        }
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
    // One tool reads, writes and deletes; what it says about itself holds for the worst of these.
    let about = ToolAnnotations::with_title("Shared context").read_only(false).destructive(true).idempotent(false);
    described(tool, "", about.open_world(false))
}

fn agents_tool(tool: Described, addition: &str) -> Tool {
    let about = |title: &str| ToolAnnotations::with_title(title);
    let about = match tool.name {
        WORKSPACE_LIST => about("List items").read_only(true),
        WORKSPACE_READ => about("Read an item").read_only(true),
        SKILL_READ => about("Read a skill").read_only(true),
        WORKSPACE_DELETE => about("Delete an item").read_only(false).destructive(true).idempotent(false),
        WORKSPACE_PUBLISH => about("Publish an item").read_only(false).destructive(true).idempotent(false),
        _ => about("Write an item").read_only(false).destructive(true).idempotent(false),
    };
    described(tool, addition, about.open_world(false))
}

pub(super) fn described(tool: Described, addition: &str, about: ToolAnnotations) -> Tool {
    let schema = match tool.input {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    let title = about.title.clone().unwrap_or_default();
    let description = format!("{}{addition}", tool.description);
    Tool::new(tool.name, description, schema).with_title(title).with_annotations(about)
}

/// The shared agents of one's own workspaces, for a model that has no other way to learn their ids. Names only, which are
/// single words, and nobody else's: what strangers call their agents has no business in somebody's prompt.
async fn targets(asker: &Asker) -> service::Result<String> {
    let found = agents::list_shared(&asker.ctx, Page { limit: Some(TARGETS_READ), cursor: None }).await?;
    let own = found.items.iter().filter(|one| one.is_member).take(TARGETS_NAMED);
    let named: Vec<_> = own.map(|one| format!("{} ({})", one.agent.id, one.agent.name)).collect();
    Ok(if named.is_empty() {
        " There is no shared agent in your workspaces at present.".to_owned()
    } else {
        format!(" Shared agents of your workspaces: {}.", named.join(", "))
    })
}

async fn use_platform_tool(asker: &Asker, tool: &str, arguments: Map<String, Value>) -> service::Result<Value> {
    let answer = platform_tools::call(&asker.ctx, Acting::Own, tool, arguments).await?;
    Ok(serde_json::to_value(answer).unwrap_or(Value::Null))
}

async fn use_shared_context(asker: &Asker, mut arguments: Map<String, Value>) -> service::Result<Value> {
    let session = asker.session_named_in(&mut arguments)?;
    let request = Request::parse(arguments)?;
    let answer = shared_context::execute(&asker.ctx, session, request).await?;
    Ok(serde_json::to_value(answer).unwrap_or(Value::Null))
}
