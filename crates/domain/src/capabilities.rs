//! Names of tools, and patterns that stand for many of them. Dotted ASCII: `k8s.pods.list`; `k8s.*` is everything below
//! `k8s`, `*` everything.

use crate::ids::is_word;
use crate::{Refusal, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

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
#[serde(transparent)]
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

/// The tools that a list of patterns stands for. Asking is a few look-ups, however long the list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<ToolPattern>", into = "Vec<ToolPattern>")]
pub struct ToolSet {
    /// As it was written, for people.
    patterns: Vec<ToolPattern>,
    known: HashSet<String>,
}

impl From<Vec<ToolPattern>> for ToolSet {
    fn from(patterns: Vec<ToolPattern>) -> Self {
        let known = patterns.iter().map(|pattern| pattern.0.clone()).collect();
        Self { patterns, known }
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
        if let Some(exact) = self.known.get(tool) {
            return Some(exact);
        }
        let mut buffer = String::with_capacity(tool.len() + 2);
        let mut name = tool;
        while let Some((above, _)) = name.rsplit_once('.') {
            buffer.clear();
            buffer.push_str(above);
            buffer.push_str(".*");
            if let Some(found) = self.known.get(buffer.as_str()) {
                return Some(found);
            }
            name = above;
        }
        self.known.get("*").map(String::as_str)
    }
}
