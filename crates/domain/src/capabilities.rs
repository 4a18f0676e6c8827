//! Names of tools, and patterns that stand for many of them. Dotted ASCII: `k8s.pods.list`; `k8s.*` is everything below
//! `k8s`, `*` everything.

use crate::ids::is_word;
use crate::{Refusal, Result};
use serde::{Deserialize, Serialize};

const LONGEST: usize = 128;

fn is_part_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// Whether this is the name of one tool.
pub fn is_tool_name(text: &str) -> bool {
    text.len() <= LONGEST && text.split('.').all(|part| is_word(part, LONGEST, is_part_byte))
}

/// The name of a tool as somebody asks about it.
pub fn check_tool_name(text: &str) -> Result<()> {
    if is_tool_name(text) {
        return Ok(());
    }
    Err(Refusal::invalid_field("tool", "a tool's name is dotted words of a-z, 0-9 and `_`, like `k8s.pods.list`"))
}

/// A pattern that stands for tools: a name, `name.*`, or `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern(String);

impl ToolPattern {
    pub const EXPECTED: &'static str = "a tool such as `k8s.get`, all below a name such as `k8s.*`, or `*`";

    pub fn parse(text: &str) -> Option<Self> {
        let name = text.strip_suffix(".*").unwrap_or(text);
        (text == "*" || is_tool_name(name)).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A pattern that stands for nothing would make a `deny` that denies nothing: it does not get past any door.
impl TryFrom<String> for ToolPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("expected {}", Self::EXPECTED))
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> Self {
        pattern.0
    }
}

/// The tools that a list of patterns stands for. Asking is a search in sorted names for each dot, which for the lists that
/// people write is quicker than hashing, and allocates nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<ToolPattern>", into = "Vec<ToolPattern>")]
pub struct ToolSet {
    /// As it was written, for people; the numbers beside names lead back to it.
    patterns: Vec<ToolPattern>,
    exact: Vec<(String, usize)>,
    /// By the name before `.*`.
    below: Vec<(String, usize)>,
    everything: Option<usize>,
}

impl From<Vec<ToolPattern>> for ToolSet {
    fn from(patterns: Vec<ToolPattern>) -> Self {
        let mut set = Self::default();
        for (index, pattern) in patterns.iter().enumerate() {
            match (pattern.as_str(), pattern.as_str().strip_suffix(".*")) {
                ("*", _) => set.everything = Some(index),
                (_, Some(name)) => set.below.push((name.to_owned(), index)),
                (name, None) => set.exact.push((name.to_owned(), index)),
            }
        }
        set.exact.sort();
        set.below.sort();
        Self { patterns, ..set }
    }
}

impl From<ToolSet> for Vec<ToolPattern> {
    fn from(set: ToolSet) -> Self {
        set.patterns
    }
}

impl ToolSet {
    /// From patterns that are known to be well-formed; others stand for nothing.
    pub fn of(patterns: &[&str]) -> Self {
        patterns.iter().filter_map(|text| ToolPattern::parse(text)).collect::<Vec<_>>().into()
    }

    pub fn patterns(&self) -> &[ToolPattern] {
        &self.patterns
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The most exact pattern that stands for this tool, if any does.
    pub fn find(&self, tool: &str) -> Option<&str> {
        let above = || tool.rmatch_indices('.').find_map(|(dot, _)| number_of(&self.below, &tool[..dot]));
        let found = number_of(&self.exact, tool).or_else(above).or(self.everything)?;
        self.patterns.get(found).map(ToolPattern::as_str)
    }
}

fn number_of(sorted: &[(String, usize)], name: &str) -> Option<usize> {
    let at = sorted.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
    sorted.get(at).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_names_and_for_what_lies_below_them() {
        let cases = [
            ("k8s.*", "k8s.get", true),
            ("k8s.*", "k8s.pods.list", true),
            ("k8s.*", "k8s", false),
            ("k8s.*", "k8sx", false),
            ("k8s.*", "k8sx.get", false),
            ("k8s.*", "ak8s.get", false),
            ("k8s.*", "a.k8s.get", false),
            ("k8s.pods.*", "k8s.pods.list", true),
            ("k8s.pods.*", "k8s.pods", false),
            ("k8s.pods.*", "k8s.get", false),
            ("k8s.get", "k8s.get", true),
            ("k8s.get", "k8s.get.all", false),
            ("k8s.get", "k8s", false),
            ("k8s.get", "k8s.ge", false),
            ("k8s", "k8s", true),
            ("k8s", "k8s.get", false),
            ("*", "k8s", true),
            ("*", "k8s.pods.list", true),
        ];
        for (pattern, tool, expected) in cases {
            assert_eq!(ToolSet::of(&[pattern]).find(tool), expected.then_some(pattern), "{pattern} {tool}");
        }
        assert_eq!(ToolSet::default().find("k8s.get"), None);
    }

    #[test]
    fn the_most_exact_pattern_is_named_whatever_the_order() {
        let patterns = ["*", "a.*", "a.b.*", "a.b.c"];
        let cases = [("a.b.c", "a.b.c"), ("a.b.d", "a.b.*"), ("a.b.c.d", "a.b.*"), ("a.b", "a.*"), ("b", "*")];
        for (tool, expected) in cases {
            let mut patterns = patterns;
            for _ in 0..patterns.len() {
                patterns.rotate_left(1);
                assert_eq!(ToolSet::of(&patterns).find(tool), Some(expected), "{tool} in {patterns:?}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_wherever_it_is_read() {
        let long = "a".repeat(LONGEST + 1);
        for bad in [
            "",
            " ",
            ".",
            ".*",
            "**",
            "*.*",
            "*.get",
            "k8s*",
            "k8s.g*",
            "a.*.b",
            "a.**",
            "k8s..get",
            "k8s.",
            ".get",
            "K8s.get",
            "k8s get",
            "k8s-get",
            "k8s.é",
            "k8s.get\n",
            "k8s\0",
            "k8s.?",
            "[a]",
            &long,
        ] {
            assert_eq!(ToolPattern::parse(bad), None, "{bad:?}");
            assert!(serde_json::from_value::<ToolSet>(serde_json::json!([bad])).is_err(), "{bad:?}");
            assert!(!is_tool_name(bad), "{bad:?}");
            let refusal = check_tool_name(bad).unwrap_err();
            assert_eq!(refusal.details["field"], "tool", "{bad:?}");
        }
        for pattern in ["k8s.*", "*"] {
            assert!(ToolPattern::parse(pattern).is_some() && !is_tool_name(pattern), "a pattern is no tool: {pattern}");
        }
    }

    #[test]
    fn a_set_is_written_as_it_was_read() {
        let written = serde_json::json!(["b.*", "a", "*", "a"]);
        let set: ToolSet = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&set).unwrap(), written);
    }
}
