//! The tools of a node as a model is told about them. What is said here and what `NodeRequest` takes is the same.

use super::Tool;
use crate::commands::ARGUMENTS_MOST;
use crate::node_tools::{CALL_STATUS, COMMAND_DEFAULT_S, COMMAND_LONGEST_S, NodeTool};
use crate::paths::PATH_LONGEST_BYTES;
use serde_json::{Value, json};

const READ: &str = "\
Reads one text file on the person's machine, whole (at most 10 MB, else truncated is true), and answers with its sha256. \
Paths are relative to the folder that the person shared. Files that may hold secrets are read only if the person agrees. \
Example: {\"path\":\"src/main.rs\"}.";

const WRITE: &str = "\
Writes a whole text file on the person's machine, or appends to it; the person may have to agree first. To change a part \
of a file use tool_edit_file. Read a file before you replace it and pass its sha256 as base_sha256: if somebody changed \
it since, nothing is written (STALE_BASE). \
Examples: {\"path\":\"notes/today.md\",\"content\":\"# Today\\n\",\"create_dirs\":true}; \
{\"path\":\"log.txt\",\"content\":\"done\\n\",\"mode\":\"append\"}.";

const LIST: &str = "\
Lists a folder on the person's machine: path, type, size, modified; at most 1000 entries, else truncated is true. \
Examples: {\"path\":\".\"}; {\"path\":\"src\",\"recursive\":true,\"pattern\":\"**/*.rs\"}.";

const EDIT: &str = "\
Replaces one piece of a text file on the person's machine; the person may have to agree first. old must occur exactly \
once, letter by letter and with its line breaks: take enough of what surrounds it. \
Example: {\"path\":\"src/main.rs\",\"old\":\"let size = 10;\",\"new\":\"let size = 200;\"}.";

const DELETE: &str = "\
Deletes one file on the person's machine, never a folder; the person has to agree first. Example: {\"path\":\"old.txt\"}.";

const EXECUTE: &str = "\
Runs one program on the person's machine, confined to the shared folder and without network unless it is granted; the \
person has to agree first. There is no shell: no pipes, no redirection, no variables, no wildcards; each argument is one \
entry of args. Some programs are never run, such as sudo or sh -c (COMMAND_DENIED). Output is kept up to 256 KiB for each stream. \
Example: {\"program\":\"cargo\",\"args\":[\"test\",\"--workspace\"],\"cwd\":\"crates\",\"timeout_s\":120}.";

const STATUS: &str = "\
Tells how a call of a tool_ tool stands, for answers that came before its end: status, result or reason, and the approval that it \
waits for. With wait_s it waits for the end first. Only the person decides; asking again changes nothing. \
Examples: {\"call_id\":\"call_0f3a\"}; {\"call_id\":\"call_0f3a\",\"wait_s\":45}.";

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

/// All six, in the order of `NodeTool::ALL`.
pub fn all() -> Vec<Tool> {
    NodeTool::ALL.into_iter().map(of).collect()
}

pub fn of(tool: NodeTool) -> Tool {
    let (description, input) = match tool {
        NodeTool::ReadFile => (READ, object(&json!({"path": path("The file.")}), &["path"])),
        NodeTool::WriteFile => (WRITE, write()),
        NodeTool::ListDirectory => (LIST, list()),
        NodeTool::EditFile => (EDIT, edit()),
        NodeTool::DeleteFile => (DELETE, object(&json!({"path": path("The file.")}), &["path"])),
        NodeTool::ExecuteCommand => (EXECUTE, execute()),
    };
    Tool { name: tool.as_str(), description, input }
}

/// The tool that tells how a call stands.
pub fn call_status() -> Tool {
    let properties = json!({"call_id": text("The call_id of the answer that came before the end.")});
    Tool { name: CALL_STATUS, description: STATUS, input: object(&properties, &["call_id"]) }
}

/// Where several machines serve, a call says which one: an argument for whoever passes it on, not for the tool.
pub fn choose_among(input: &mut Value, nodes: &[String]) {
    if nodes.len() > 1 {
        let names = nodes.join(", ");
        input["properties"]["node"] =
            text(&format!("The machine, by name or id: {names}. Several serve you: say which."));
    }
}

fn path(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": PATH_LONGEST_BYTES, "description": description})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn write() -> Value {
    let properties = json!({
        "path": path("The file; it need not be there yet."),
        "content": text("The text, at most 10 MB."),
        "create_dirs": flag("Make the folders that are missing. Default false."),
        "mode": {
            "type": "string", "enum": ["write", "append"],
            "description": "write replaces what is there, append adds to its end. Default write."
        },
        "base_sha256": {
            "type": "string", "pattern": "^[0-9a-f]{64}$",
            "description": "Only if the file still has this sha256, as tool_read_file told it."
        }
    });
    object(&properties, &["path", "content"])
}

fn list() -> Value {
    let properties = json!({
        "path": path("The folder; . is the shared folder itself."),
        "recursive": flag("Also what lies in folders below. Default false."),
        "pattern": {
            "type": "string", "minLength": 1, "maxLength": 256,
            "description": "Only what looks like this: * and ? within a name, ** for any folders. Without / it is about names."
        }
    });
    object(&properties, &["path"])
}

fn edit() -> Value {
    let properties = json!({
        "path": path("The file."),
        "old": {"type": "string", "minLength": 1, "description": "What is there now, exactly once."},
        "new": text("What takes its place; may be empty.")
    });
    object(&properties, &["path", "old", "new"])
}

fn execute() -> Value {
    let properties = json!({
        "program": {
            "type": "string", "minLength": 1, "maxLength": PATH_LONGEST_BYTES,
            "description": "The name of one program, without arguments."
        },
        "args": {
            "type": "array", "items": {"type": "string"}, "maxItems": ARGUMENTS_MOST,
            "description": "Its arguments, one by one; [] if there are none."
        },
        "cwd": path("The folder to run it in; the shared folder if left out."),
        "timeout_s": {
            "type": "integer", "minimum": 1, "maximum": COMMAND_LONGEST_S,
            "description": format!("How many seconds it may take. Default {COMMAND_DEFAULT_S}.")
        }
    });
    object(&properties, &["program", "args"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_tools::NodeRequest;

    /// The JSON objects in a description.
    fn examples(text: &str) -> Vec<Value> {
        let starts = text.match_indices('{').map(|(at, _)| at);
        starts
            .filter_map(|at| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok())
            .collect()
    }

    /// A value that a property takes.
    fn good(name: &str, property: &Value) -> Value {
        match (property["type"].as_str().unwrap(), name) {
            ("string", "base_sha256") => json!("0".repeat(64)),
            ("string", _) => property["enum"].get(0).cloned().unwrap_or_else(|| json!("a")),
            ("boolean", _) => json!(true),
            ("integer", _) => property["maximum"].clone(),
            ("array", _) => json!(["a"]),
            (other, _) => panic!("{name}: {other}"),
        }
    }

    /// All that a tool takes.
    fn whole(tool: NodeTool) -> serde_json::Map<String, Value> {
        let input = of(tool).input;
        let properties = input["properties"].as_object().unwrap();
        properties.iter().map(|(name, property)| (name.clone(), good(name, property))).collect()
    }

    fn parses(tool: NodeTool, arguments: &serde_json::Map<String, Value>) -> bool {
        NodeRequest::parse(tool, &Value::Object(arguments.clone())).is_ok()
    }

    #[test]
    fn the_examples_in_the_descriptions_are_valid_requests() {
        for tool in NodeTool::ALL {
            let found = examples(of(tool).description);
            assert!(!found.is_empty(), "{tool:?}");
            for example in found {
                NodeRequest::parse(tool, &example).unwrap();
            }
        }
    }

    #[test]
    fn what_doors_add_to_the_arguments_of_a_call_is_no_argument_of_a_tool() {
        for tool in NodeTool::ALL {
            for added in ["node", "wait_s"] {
                assert!(of(tool).input["properties"].get(added).is_none(), "{tool:?} {added}");
            }
        }
    }

    #[test]
    fn what_the_schema_requires_is_required_and_nothing_else_is() {
        for tool in NodeTool::ALL {
            let input = of(tool).input;
            let required: Vec<&str> = input["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert!(parses(tool, &whole(tool)), "{tool:?}");
            for name in whole(tool).keys() {
                let mut without = whole(tool);
                without.remove(name);
                assert_eq!(parses(tool, &without), !required.contains(&name.as_str()), "{tool:?} without {name}");
            }
            let mut least = whole(tool);
            least.retain(|name, _| required.contains(&name.as_str()));
            assert!(parses(tool, &least), "{tool:?}");
        }
    }

    #[test]
    fn what_the_schema_does_not_know_or_has_another_type_is_refused() {
        for tool in NodeTool::ALL {
            assert_eq!(of(tool).input["additionalProperties"], false);
            let mut more = whole(tool);
            more.insert("more".to_owned(), json!(1));
            assert!(!parses(tool, &more), "{tool:?}");
            for name in whole(tool).keys() {
                for wrong in [json!("a"), json!(true), json!(7), json!(1.5), json!(["a"]), json!([1]), json!({})] {
                    let property = &of(tool).input["properties"][name];
                    let fits = match property["type"].as_str().unwrap() {
                        "string" => wrong.is_string() && property["enum"].is_null() && property["pattern"].is_null(),
                        "boolean" => wrong.is_boolean(),
                        "integer" => wrong.is_u64(),
                        _ => wrong == json!(["a"]),
                    };
                    let mut changed = whole(tool);
                    changed.insert(name.clone(), wrong.clone());
                    assert_eq!(parses(tool, &changed), fits, "{tool:?} {name} {wrong}");
                }
            }
        }
    }

    #[test]
    fn the_bounds_that_the_schemas_tell_are_the_bounds() {
        let with = |tool, name: &str, value: Value| {
            let mut arguments = whole(tool);
            arguments.insert(name.to_owned(), value);
            parses(tool, &arguments)
        };
        for tool in NodeTool::ALL {
            for (name, property) in of(tool).input["properties"].as_object().unwrap() {
                if let Some(longest) = property["maxLength"].as_u64() {
                    let longest = usize::try_from(longest).unwrap();
                    assert!(with(tool, name, json!("a".repeat(longest))), "{tool:?} {name}");
                    assert!(!with(tool, name, json!("a".repeat(longest + 1))), "{tool:?} {name}");
                }
                if property["minLength"] == 1 {
                    assert!(!with(tool, name, json!("")), "{tool:?} {name}");
                }
                if let Some(most) = property["maximum"].as_u64() {
                    assert!(!with(tool, name, json!(most + 1)) && !with(tool, name, json!(0)), "{tool:?} {name}");
                }
                if let Some(most) = property["maxItems"].as_u64() {
                    let most = usize::try_from(most).unwrap();
                    assert!(with(tool, name, json!(vec!["a"; most])), "{tool:?} {name}");
                    assert!(!with(tool, name, json!(vec!["a"; most + 1])), "{tool:?} {name}");
                }
            }
        }
    }
}
