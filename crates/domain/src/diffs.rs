//! What changed between two moments of a shared context.

use crate::Refusal;
use crate::keys::Key;
use crate::snapshots::Label;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A moment: a snapshot, a `rev`, or now.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    Now,
    Rev(u64),
    Label(Label),
}

impl Moment {
    pub fn parse(field: &str, value: &serde_json::Value) -> Result<Self, Refusal> {
        let refusal = || Refusal::invalid_field(field, format!("`{field}` is a snapshot's label, a rev or \"now\""));
        match value {
            serde_json::Value::String(text) if text == "now" => Ok(Self::Now),
            serde_json::Value::String(text) => Label::parse(text).map(Self::Label).map_err(|_| refusal()),
            serde_json::Value::Number(number) => number.as_u64().map(Self::Rev).ok_or_else(refusal),
            _ => Err(refusal()),
        }
    }
}

/// The version and rev a key had at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub version: u64,
    pub rev: u64,
}

pub type Marks = BTreeMap<Key, Mark>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    pub key: Key,
    pub from_version: Option<u64>,
    pub to_version: Option<u64>,
    pub from_rev: Option<u64>,
    pub to_rev: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    pub added: Vec<Difference>,
    pub removed: Vec<Difference>,
    pub changed: Vec<Difference>,
}

/// Compares by `rev`, which unlike `version` is never reused after a delete.
pub fn diff(from: &Marks, to: &Marks) -> Diff {
    let mut result = Diff::default();
    let keys: std::collections::BTreeSet<&Key> = from.keys().chain(to.keys()).collect();
    for key in keys {
        let (before, after) = (from.get(key), to.get(key));
        let difference = Difference {
            key: key.clone(),
            from_version: before.map(|mark| mark.version),
            to_version: after.map(|mark| mark.version),
            from_rev: before.map(|mark| mark.rev),
            to_rev: after.map(|mark| mark.rev),
        };
        match (before, after) {
            (None, Some(_)) => result.added.push(difference),
            (Some(_), None) => result.removed.push(difference),
            (Some(before), Some(after)) if before.rev != after.rev => result.changed.push(difference),
            _ => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_deleted_and_made_again_counts_as_changed_even_at_the_same_version() {
        let key = |text: &str| Key::parse(text, false).unwrap();
        let from = Marks::from([(key("a"), Mark { version: 1, rev: 1 }), (key("b"), Mark { version: 1, rev: 2 })]);
        let to = Marks::from([(key("a"), Mark { version: 1, rev: 4 }), (key("c"), Mark { version: 1, rev: 5 })]);
        let diff = diff(&from, &to);
        let names = |list: &[Difference]| list.iter().map(|d| d.key.as_str().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            (names(&diff.added), names(&diff.removed), names(&diff.changed)),
            (vec!["c".into()], vec!["b".into()], vec!["a".into()])
        );
    }
}
