//! The `workspace_*` tools as a model is told about them.

use super::Tool;
use crate::items::VALUE_LARGEST_BYTES;
use serde_json::{Value, json};

const LIST: &str = "\
Lists everything in your workspace, newest first: key, the first 100 characters, size, who wrote it, version. Values are \
not included: read the ones you need. The workspace is lasting memory that outlives a conversation; a private agent \
shares it with the other private agents of the same person, a shared agent has one of its own. \
Example: {}.";

const READ: &str = "\
Reads one item of your workspace, whole. Fails with ITEM_NOT_FOUND if there is none under that key: see workspace_list. \
Example: {\"key\":\"shopping list\"}.";

const WRITE: &str = "\
Creates an item of your workspace or replaces its value, and answers with the new version. Use it for what other agents, \
or you yourself tomorrow, will need; for notes within one task use shared_context. To change an item safely, read it \
first and pass its version as if_version: on VERSION_CONFLICT somebody else changed it, so read again. \
Examples: {\"key\":\"shopping list\",\"value\":\"milk\\nbread\"}; \
{\"key\":\"plan\",\"value\":\"{\\\"step\\\":2}\",\"if_version\":1}; \
{\"key\":\"plan\",\"value\":\"first draft\",\"if_version\":0} only if there is none yet.";

const DELETE: &str = "\
Removes one item of your workspace. There is no way back. Example: {\"key\":\"shopping list\"}.";

const PUBLISH: &str = "\
Copies one item of your workspace to a shared agent, where everybody who talks to that agent can read it: do so only when \
the person wants it. The copy does not follow later changes. For private agents only. Fails with ITEM_EXISTS if the \
target has an item under that key, unless overwrite is true; with AGENT_NOT_FOUND or FORBIDDEN if the target is not a \
shared agent that you can see. \
Example: {\"key\":\"recipe\",\"target_agent_id\":\"agt_0192f0\",\"target_key\":\"family recipe\"}.";

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

/// All five.
pub fn all() -> Vec<Tool> {
    let key =
        |description: &str| json!({"type": "string", "minLength": 1, "maxLength": 256, "description": description});
    let value = format!(
        "Plain text or JSON as text (serialise structured data yourself), at most {VALUE_LARGEST_BYTES} bytes."
    );
    let if_version = json!({
        "type": "integer", "minimum": 0,
        "description": "Only if the item is at this version; 0 = only if it does not exist."
    });
    let written = json!({
        "key": key("The item's name: any line of text, at most 256 characters."),
        "value": {"type": "string", "description": value},
        "if_version": if_version
    });
    let published = json!({
        "key": key("The item of yours to copy."),
        "target_agent_id": {"type": "string", "description": "The id of a shared agent, agt_…"},
        "target_key": key("What the copy is called; the same key if left out."),
        "overwrite": {"type": "boolean", "description": "Replace what the target has under that key. Default false."}
    });
    vec![
        Tool { name: "workspace_list", description: LIST, input: object(&json!({}), &[]) },
        Tool {
            name: "workspace_read",
            description: READ,
            input: object(&json!({"key": key("The item's name.")}), &["key"]),
        },
        Tool { name: "workspace_write", description: WRITE, input: object(&written, &["key", "value"]) },
        Tool {
            name: "workspace_delete",
            description: DELETE,
            input: object(&json!({"key": key("The item's name.")}), &["key"]),
        },
        Tool {
            name: "workspace_publish",
            description: PUBLISH,
            input: object(&published, &["key", "target_agent_id"]),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item_requests::ItemRequest;
    use crate::platform_tools::{Family, names_of};

    /// The JSON objects in a description.
    fn examples(text: &str) -> Vec<Value> {
        let starts = text.match_indices('{').map(|(at, _)| at);
        let read = |at: usize| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok();
        starts.filter_map(read).filter(|value| value.get("step").is_none()).collect()
    }

    #[test]
    fn the_examples_in_the_descriptions_are_valid_requests() {
        let tools = all();
        assert_eq!(tools.iter().map(|tool| tool.name).collect::<Vec<_>>(), names_of(&[Family::Items]));
        for tool in tools {
            let found = examples(tool.description);
            assert!(!found.is_empty(), "{}", tool.name);
            for example in found {
                let Value::Object(map) = example else { panic!("{}", tool.name) };
                ItemRequest::parse(tool.name, map).unwrap();
            }
        }
    }
}
