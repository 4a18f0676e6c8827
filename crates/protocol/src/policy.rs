//! Why a tool may be used, or why not.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainPolicy {
    /// Who would use it, with or without `usr_`.
    pub user: String,
    /// The tool's dotted name; for what a node does, its capability.
    pub tool: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyExplained {
    pub decision: PolicyDecision,
    /// What decided: `plugin`, `workspace`, `role`, `deny` or `platform`.
    pub layer: String,
    /// The pattern that decided, or the part of the configuration that is missing something; absent if nothing matched.
    pub rule: Option<String>,
    /// One sentence for people.
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PolicyDecision {
    Allow,
    Deny,
}
