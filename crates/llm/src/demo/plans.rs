//! The plan that the demo makes when it is asked for one: two tasks, the second after the first.

use crate::{Tool, ToolCall};
use serde_json::{Value, json};

const SUBMIT_PLAN: &str = "submit_plan";

/// The call that hands in a plan, if one was asked for and can be handed in.
pub(crate) fn call(asked: &str, tools: &[Tool]) -> Option<ToolCall> {
    let tool = tools.iter().find(|tool| tool.name == SUBMIT_PLAN)?;
    let mut words = asked.split(|letter: char| !letter.is_alphanumeric());
    words.find(|word| matches!(word.to_ascii_lowercase().as_str(), "plan" | "planning"))?;
    let agents = agents(&tool.parameters);
    let first = agents.first().map_or("agent_researcher", String::as_str);
    let second = agents.get(1).map_or(first, String::as_str);
    let gist = super::gist(asked);
    let plan = json!({ "tasks": [
        { "id": "gather", "agent": first, "instruction": format!("Gather what is needed for: {gist}"), "depends_on": [] },
        { "id": "write", "agent": second, "instruction": format!("Write the answer to: {gist}"), "depends_on": ["gather"] },
    ]});
    Some(ToolCall { id: "call_0".to_owned(), name: SUBMIT_PLAN.to_owned(), arguments: plan.to_string() })
}

/// The names that the tool's schema allows for a task's agent.
fn agents(schema: &Value) -> Vec<String> {
    let listed = schema.pointer("/properties/tasks/items/properties/agent/enum").and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}
