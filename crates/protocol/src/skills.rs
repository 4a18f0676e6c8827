//! The skills of a workspace, as its people see them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SkillList {
    pub items: Vec<Skill>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The paths of its files beside `SKILL.md`.
    pub files: Vec<String>,
    /// Its `allowed-tools`: what it would like to use. It is given none of it.
    pub wished_tools: Vec<String>,
    /// What somebody who trusts it should know, such as characters that cannot be seen.
    pub warnings: Vec<String>,
}

impl From<domain::skills::Skill> for Skill {
    fn from(skill: domain::skills::Skill) -> Self {
        Self {
            name: skill.name,
            description: skill.description,
            files: skill.files.into_keys().collect(),
            wished_tools: skill.wished_tools,
            warnings: skill.warnings,
        }
    }
}
