//! How a tool is known again: one value over all that a model would be told of it, and what became of the tools that somebody
//! accepted.

use crate::digests::Form;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Nothing else that is ever hashed begins like this.
const DOMAIN: &str = "longhouse plugin tool 1";

/// SHA-256 in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Over the plugin's own words and not what is shown of them, so that what was cut off counts as well. The order of names
    /// in the schema does not count.
    pub fn of(own_name: &str, description: Option<&str>, schema: &Map<String, Value>) -> Self {
        let mut form = Form::new(DOMAIN);
        form.text(own_name);
        form.optional(description);
        form.object(schema);
        Self(form.hex())
    }

    /// One that was kept, or that somebody names: what it is compared with is made here.
    pub fn from_kept(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What became of a tool since somebody accepted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    New,
    Same,
    Changed,
    Gone,
}

/// By name: what was accepted against what is there now.
pub fn compare<'a>(
    accepted: &'a BTreeMap<String, Fingerprint>,
    now: &'a BTreeMap<String, Fingerprint>,
) -> BTreeMap<&'a str, Change> {
    let gone = accepted.keys().map(|name| (name.as_str(), Change::Gone));
    let there = now.iter().map(|(name, fingerprint)| {
        let change = match accepted.get(name) {
            None => Change::New,
            Some(known) if known == fingerprint => Change::Same,
            Some(_) => Change::Changed,
        };
        (name.as_str(), change)
    });
    // What is there overwrites what was thought gone.
    gone.chain(there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn of(name: &str, description: Option<&str>, schema: &Value) -> Fingerprint {
        Fingerprint::of(name, description, schema.as_object().unwrap())
    }

    #[test]
    fn a_fingerprint_never_changes_between_builds() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
        let expected = "0dbe77b3999cec0f4689d00ef8f9e103290837fe9ab391328560ba4becaa2236";
        assert_eq!(of("add", Some("Adds."), &schema).as_str(), expected);
    }

    #[test]
    fn whatever_a_model_would_be_told_counts_and_the_order_of_names_does_not() {
        let schema = json!({"a": 1, "b": {"c": [1, 2], "d": null}});
        let base = of("x", Some("words"), &schema);
        let same: Value = serde_json::from_str(r#"{"b": {"d": null, "c": [1, 2]}, "a": 1}"#).unwrap();
        assert_eq!(of("x", Some("words"), &same), base);
        let others = [
            of("y", Some("words"), &schema),
            of("x", Some("word"), &schema),
            of("x", Some("words\u{200b}"), &schema),
            of("x", Some(""), &schema),
            of("x", None, &schema),
            of("xw", Some("ords"), &schema),
            of("x", Some("words"), &json!({"a": 1.0, "b": {"c": [1, 2], "d": null}})),
            of("x", Some("words"), &json!({"a": "1", "b": {"c": [1, 2], "d": null}})),
            of("x", Some("words"), &json!({"a": 1, "b": {"c": [2, 1], "d": null}})),
            of("x", Some("words"), &json!({"a": 1, "b": {"c": [1, 2]}})),
            of("x", Some("words"), &json!({})),
        ];
        for (number, other) in others.iter().enumerate() {
            assert_ne!(*other, base, "{number}");
        }
    }

    #[test]
    fn tools_are_new_the_same_changed_or_gone() {
        let print = |text: &str| of(text, None, &json!({}));
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, Fingerprint> {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), print(text))).collect()
        };
        let (accepted, now) = (map(&[("a", "1"), ("b", "1"), ("c", "1")]), map(&[("a", "1"), ("b", "2"), ("d", "1")]));
        let found: Vec<_> = compare(&accepted, &now).into_iter().collect();
        let expected = [("a", Change::Same), ("b", Change::Changed), ("c", Change::Gone), ("d", Change::New)];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn two_texts_have_one_fingerprint_only_if_they_are_one(a in ".{0,8}", b in ".{0,8}", c in ".{0,8}", d in ".{0,8}") {
            let (one, other) = (of(&a, Some(&b), &json!({})), of(&c, Some(&d), &json!({})));
            prop_assert_eq!(one == other, (a, b) == (c, d));
        }
    }
}
