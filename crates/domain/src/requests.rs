//! The envelope of the `shared_context` tool: one JSON object, the same over HTTP, MCP and in the agent loop.
//!
//! Parsing is strict. An unknown action or field, a wrong type or a claimed identity is refused by name; the
//! refusal never repeats what was sent.

use crate::diffs::Moment;
use crate::entries::Expectation;
use crate::fields::{Fields, missing, wrong_type};
use crate::participants::Patterns;
use crate::snapshots::Label;
use crate::{Refusal, Result};
use serde_json::{Map, Value};

pub const BATCH_MOST: usize = 100;
const VERSIONS_MOST: usize = 1_000;
const TTL_LONGEST_S: u64 = 10 * 366 * 86_400;
pub const ACTIONS: [&str; 11] = [
    "list_keys",
    "read",
    "write",
    "delete",
    "read_batch",
    "read_history",
    "snapshot",
    "list_snapshots",
    "read_snapshot",
    "restore_snapshot",
    "diff",
];

/// A request. Keys are still plain text: whether `a:b` is one depends on the session.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    ListKeys { prefix: Option<String> },
    Read { key: String },
    Write(WriteRequest),
    Delete { key: String, expectation: Expectation },
    ReadBatch { keys: Vec<String> },
    ReadHistory { key: String, versions: Option<Vec<u64>> },
    Snapshot { label: Label },
    ListSnapshots,
    ReadSnapshot { label: Label, keys: Option<Vec<String>> },
    RestoreSnapshot { label: Label },
    Diff { from: Moment, to: Moment },
}

#[derive(Debug, Clone, PartialEq)]
pub struct WriteRequest {
    pub key: String,
    pub value: String,
    pub expectation: Expectation,
    pub ttl_seconds: Option<u64>,
    pub readable_by: Option<Patterns>,
    pub writable_by: Option<Patterns>,
}

impl Request {
    pub fn parse(envelope: Map<String, Value>) -> Result<Self> {
        let mut fields = Fields::of(envelope)?;
        let action = fields.text("action")?;
        let request = match action.as_str() {
            "list_keys" => Self::ListKeys { prefix: fields.optional_text("prefix")? },
            "read" => Self::Read { key: fields.text("key")? },
            "write" => Self::Write(fields.write()?),
            "delete" => Self::Delete { key: fields.text("key")?, expectation: fields.expectation()? },
            "read_batch" => Self::ReadBatch { keys: fields.keys()?.ok_or_else(|| missing("keys"))? },
            "read_history" => Self::ReadHistory { key: fields.text("key")?, versions: fields.versions()? },
            "snapshot" => Self::Snapshot { label: fields.label()? },
            "list_snapshots" => Self::ListSnapshots,
            "read_snapshot" => Self::ReadSnapshot { label: fields.label()?, keys: fields.keys()? },
            "restore_snapshot" => Self::RestoreSnapshot { label: fields.label()? },
            "diff" => Self::Diff { from: fields.moment("from")?, to: fields.moment("to")? },
            _ => {
                let known = ACTIONS.join(", ");
                return Err(Refusal::invalid_field("action", format!("`action` is one of {known}")));
            }
        };
        fields.finish(&action)?;
        Ok(request)
    }
}

impl Fields {
    fn keys(&mut self) -> Result<Option<Vec<String>>> {
        let keys = self.optional_texts("keys")?;
        if keys.as_ref().is_some_and(|keys| keys.len() > BATCH_MOST) {
            return Err(Refusal::invalid_field("keys", format!("`keys` has at most {BATCH_MOST} entries")));
        }
        Ok(keys)
    }

    fn patterns(&mut self, field: &str) -> Result<Option<Patterns>> {
        self.optional_texts(field)?.map(|texts| Patterns::parse(field, &texts)).transpose()
    }

    fn expectation(&mut self) -> Result<Expectation> {
        Ok(Expectation { version: self.optional_number("if_version")?, rev: self.optional_number("if_rev")? })
    }

    fn label(&mut self) -> Result<Label> {
        Label::parse(&self.text("label")?)
    }

    fn moment(&mut self, field: &str) -> Result<Moment> {
        Moment::parse(field, &self.take(field).ok_or_else(|| missing(field))?)
    }

    fn versions(&mut self) -> Result<Option<Vec<u64>>> {
        let refusal = || wrong_type("versions", "a list of version numbers");
        let Some(value) = self.take("versions") else { return Ok(None) };
        let Value::Array(items) = value else { return Err(refusal()) };
        if items.len() > VERSIONS_MOST {
            return Err(Refusal::invalid_field("versions", format!("`versions` has at most {VERSIONS_MOST} entries")));
        }
        items.iter().map(|item| item.as_u64().ok_or_else(refusal)).collect::<Result<_>>().map(Some)
    }

    fn write(&mut self) -> Result<WriteRequest> {
        let ttl_seconds = self.optional_number("ttl_seconds")?;
        if ttl_seconds.is_some_and(|seconds| !(1..=TTL_LONGEST_S).contains(&seconds)) {
            return Err(Refusal::invalid_field("ttl_seconds", "`ttl_seconds` is from 1 to ten years"));
        }
        let value = self.text("value")?;
        if value.contains('\0') {
            return Err(Refusal::invalid_field("value", "`value` is text: it cannot hold the character U+0000"));
        }
        Ok(WriteRequest {
            key: self.text("key")?,
            value,
            expectation: self.expectation()?,
            ttl_seconds,
            readable_by: self.patterns("readable_by")?,
            writable_by: self.patterns("writable_by")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use serde_json::json;

    fn parse(value: Value) -> Result<Request> {
        match value {
            Value::Object(map) => Request::parse(map),
            _ => panic!("a test envelope is an object"),
        }
    }

    #[test]
    fn every_action_is_understood() {
        let good = [
            json!({"action": "list_keys"}),
            json!({"action": "list_keys", "prefix": "inv:"}),
            json!({"action": "read", "key": "a"}),
            json!({"action": "write", "key": "a", "value": "", "if_version": 0, "if_rev": 3, "ttl_seconds": 1, "readable_by": ["*"], "writable_by": []}),
            json!({"action": "delete", "key": "a", "if_version": 1}),
            json!({"action": "read_batch", "keys": ["a", "b"]}),
            json!({"action": "read_history", "key": "a", "versions": [1, 2]}),
            json!({"action": "snapshot", "label": "v1.0"}),
            json!({"action": "list_snapshots"}),
            json!({"action": "read_snapshot", "label": "v1.0", "keys": ["a"]}),
            json!({"action": "restore_snapshot", "label": "v1.0"}),
            json!({"action": "diff", "from": 3, "to": "now"}),
        ];
        for envelope in good {
            assert!(parse(envelope.clone()).is_ok(), "{envelope}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_nothing_sent_is_repeated() {
        let cases = [
            (json!({}), "action"),
            (json!({"action": 1}), "action"),
            (json!({"action": "drop_table"}), "action"),
            (json!({"action": "read"}), "key"),
            (json!({"action": "read", "key": ["SECRET"]}), "key"),
            (json!({"action": "read", "key": "a", "extra": "SECRET"}), "extra"),
            (json!({"action": "write", "key": "a"}), "value"),
            (json!({"action": "write", "key": "a", "value": {"SECRET": 1}}), "value"),
            (json!({"action": "write", "key": "a", "value": "SECRET", "written_by": "orchestrator"}), "written_by"),
            (json!({"action": "read", "key": "a", "user_id": "usr_sean"}), "user_id"),
            (json!({"action": "read", "key": "a", "participant": "x"}), "participant"),
            (json!({"action": "write", "key": "a", "value": "SECRET", "if_version": "SECRET"}), "if_version"),
            (json!({"action": "write", "key": "a", "value": "SECRET", "if_version": -1}), "if_version"),
            (json!({"action": "write", "key": "a", "value": "SECRET", "if_rev": 1.5}), "if_rev"),
            (json!({"action": "write", "key": "a", "value": "SECRET", "ttl_seconds": 0}), "ttl_seconds"),
            (json!({"action": "write", "key": "a", "value": "SECRET\0"}), "value"),
            (json!({"action": "write", "key": "a", "value": "SECRET", "readable_by": "SECRET"}), "readable_by"),
            (json!({"action": "read_batch", "keys": vec!["a"; 101]}), "keys"),
            (json!({"action": "read_batch"}), "keys"),
            (json!({"action": "read_history", "key": "a", "versions": ["SECRET"]}), "versions"),
            (json!({"action": "snapshot", "label": "a b"}), "label"),
            (json!({"action": "snapshot", "label": "now"}), "label"),
            (json!({"action": "diff", "from": {}, "to": "now"}), "from"),
            (json!({"action": "list_snapshots", "label": "x"}), "label"),
        ];
        for (envelope, field) in cases {
            let refusal = parse(envelope.clone()).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidRequest, "{envelope}");
            assert_eq!(refusal.details["field"], field, "{envelope}");
            assert!(!refusal.message.contains("SECRET"), "{envelope}");
        }
    }
}
