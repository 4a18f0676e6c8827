//! Whether the house is well.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Healthy,
    Degraded,
    Unhealthy,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub status: Status,
    pub version: String,
    pub checks: Vec<Check>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Check {
    pub name: String,
    pub status: Status,
    pub detail: String,
}
