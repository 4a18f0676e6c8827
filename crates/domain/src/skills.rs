//! Skills: folders of instructions that a workspace's agents see by name and description, and load when they need them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A skill as it was loaded. Text that a reader would not see is written visibly before it gets here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// What follows the front matter of its `SKILL.md`.
    pub body: String,
    /// Other text files of its folder by their path inside it, `references/limits.md`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What it would like to use. A wish, never a grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wished_tools: Vec<String>,
    /// What somebody who trusts this skill should know, such as hidden characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
