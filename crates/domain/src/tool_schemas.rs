//! Tool definitions that a model can be given as they are, in the shapes that model providers and MCP use.

pub mod items;
pub mod node;
pub mod skills;

pub use crate::platform_tools::SHARED_CONTEXT;

use crate::requests::{ACTIONS, BATCH_MOST};
use crate::{Refusal, Result};
use serde_json::{Value, json};

/// A tool as every format describes it.
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    pub input: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    OpenAi,
    Anthropic,
    Mcp,
}

impl Format {
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "openai" => Ok(Self::OpenAi),
            "anthropic" => Ok(Self::Anthropic),
            "mcp" => Ok(Self::Mcp),
            _ => Err(Refusal::invalid_field("format", "`format` is one of openai, anthropic, mcp")),
        }
    }
}

impl Tool {
    pub fn render(&self, format: Format) -> Value {
        let (name, description, input) = (self.name, self.description, &self.input);
        match format {
            Format::OpenAi => {
                json!({"type": "function", "function": {"name": name, "description": description, "parameters": input}})
            }
            Format::Anthropic => json!({"name": name, "description": description, "input_schema": input}),
            Format::Mcp => json!({"name": name, "description": description, "inputSchema": input}),
        }
    }
}

/// The platform tools that stand.
pub fn all() -> Vec<Tool> {
    std::iter::once(shared_context()).chain(of_agents()).collect()
}

/// Those that are called on behalf of an agent.
pub fn of_agents() -> Vec<Tool> {
    items::all().into_iter().chain([skills::read()]).collect()
}

const ABOUT_SHARED_CONTEXT: &str = "\
Working memory that all participants of this session share: short texts under keys. \
Start with {\"action\":\"list_keys\"} to see what is there (names, authors, versions, sizes; no values), then read only \
what you need. Write conclusions and current state, not raw data: a value is limited (usually 1000 tokens, about 4000 \
characters). Your identity is added for you. \
Examples: {\"action\":\"read\",\"key\":\"problem_summary\"}; \
{\"action\":\"write\",\"key\":\"findings_summary\",\"value\":\"Pool size 200 fixes it.\"}; \
{\"action\":\"write\",\"key\":\"phase_status\",\"value\":\"done\",\"if_version\":3} fails with VERSION_CONFLICT if somebody \
changed the key since version 3; \
{\"action\":\"read_batch\",\"keys\":[\"scope\",\"constraints\"]}. \
Errors come as {\"error\":{\"code\",\"message\"}}: KEY_NOT_FOUND is normal for an optional key; on STORE_FULL or \
VALUE_TOO_LARGE shorten or delete; SESSION_ARCHIVED means nothing can be changed any more.";

pub fn shared_context() -> Tool {
    let count = |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    // Not `"type": [..]`: some models' dialects of JSON Schema know one type at a time only.
    let moment =
        |description: &str| json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "description": description});
    let patterns =
        |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["action"],
        "properties": {
            "action": {
                "type": "string",
                "enum": ACTIONS,
                "description": "What to do. list_keys: names and sizes. read, read_batch: values. write: create or overwrite. delete: remove. read_history: earlier versions of a key. snapshot, list_snapshots, read_snapshot, restore_snapshot: freeze, see and bring back the whole store. diff: what changed between two moments."
            },
            "key": {
                "type": "string",
                "description": "For read, write, delete, read_history. Lower-case letters, digits and _, at most 64; in sessions with namespaces also namespace:key."
            },
            "value": {"type": "string", "description": "For write: the text. Serialise structured data yourself."},
            "if_version": count("For write, delete: only if the key is at this version; 0 = only if it does not exist."),
            "if_rev": count("For write, delete: only if the key's rev is this; unlike a version a rev is never reused. 0 = only if it does not exist."),
            "ttl_seconds": {"type": "integer", "minimum": 1, "description": "For write: the key disappears after this many seconds."},
            "readable_by": patterns("For write in sessions with access lists: who may read, e.g. [\"orchestrator\",\"subagent:*\"]."),
            "writable_by": patterns("For write in sessions with access lists: who may write."),
            "keys": {
                "type": "array", "items": {"type": "string"}, "maxItems": BATCH_MOST,
                "description": "For read_batch (required) and read_snapshot (optional): which keys."
            },
            "prefix": {"type": "string", "description": "For list_keys: only keys that begin with this."},
            "versions": {
                "type": "array", "items": {"type": "integer", "minimum": 1},
                "description": "For read_history: which versions; all retained ones if left out."
            },
            "label": {"type": "string", "description": "For the snapshot actions: the snapshot's name, letters, digits, _ . -"},
            "from": moment("For diff: a snapshot's label, a rev, or \"now\"."),
            "to": moment("For diff: a snapshot's label, a rev, or \"now\".")
        }
    });
    Tool { name: SHARED_CONTEXT, description: ABOUT_SHARED_CONTEXT, input }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform_tools::{self, Family};
    use crate::requests::Request;

    #[test]
    fn the_examples_in_the_description_are_valid_requests() {
        let mut seen = 0;
        for piece in ABOUT_SHARED_CONTEXT.split("{\"action\"").skip(1) {
            let end = piece.find('}').unwrap();
            let text = format!("{{\"action\"{}}}", &piece[..end]);
            let Value::Object(map) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
            Request::parse(map).unwrap();
            seen += 1;
        }
        assert_eq!(seen, 5);
    }

    #[test]
    fn every_tool_of_the_table_that_stands_is_described_and_no_other() {
        let names = |tools: Vec<Tool>| tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(of_agents()), platform_tools::names_of(&platform_tools::OF_AGENTS));
        let with_sessions = [&[Family::SharedContext][..], &platform_tools::OF_AGENTS].concat();
        assert_eq!(names(all()), platform_tools::names_of(&with_sessions));
    }

    #[test]
    fn each_format_has_its_own_names_for_the_same_schema() {
        let tool = shared_context();
        assert_eq!(tool.render(Format::OpenAi)["function"]["parameters"], tool.input);
        assert_eq!(tool.render(Format::Anthropic)["input_schema"], tool.input);
        assert_eq!(tool.render(Format::Mcp)["inputSchema"], tool.input);
    }
}
