//! What a workspace may spend and has spent. Sums are dollars; inside they are whole micro-dollars.

use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Today's budget of a workspace, and what became of the last thirty days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceBudget {
    pub workspace: String,
    /// What all members may spend in a day; null if there is no limit.
    pub limit_usd: Option<f64>,
    pub spent_usd: f64,
    /// What is set aside for calls under way.
    pub reserved_usd: f64,
    /// null if there is no limit.
    pub remaining_usd: Option<f64>,
    /// Calls of today whose cost nobody knows: their models have no price, and `spent_usd` is without them.
    pub unpriced_calls: u64,
    /// Today's local date.
    pub day: String,
    /// When the day ends.
    #[schema(value_type = String, format = DateTime)]
    pub resets_at: Timestamp,
    /// Whose midnight ends the day.
    pub timezone: String,
    /// Today's spending by agent.
    pub by_agent: Vec<AgentSpending>,
    /// Today's spending by member.
    pub by_member: Vec<MemberSpending>,
    /// The last thirty days, the oldest first and today last.
    pub by_day: Vec<DaySpending>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentSpending {
    /// The agent's id, also if it is gone; null for calls that no agent made.
    pub agent: Option<String>,
    pub spent_usd: f64,
    pub reserved_usd: f64,
    pub calls: u64,
    pub unpriced_calls: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemberSpending {
    pub user: String,
    pub spent_usd: f64,
    pub reserved_usd: f64,
    /// What this member may spend in a day; null if only the workspace's limit holds.
    pub limit_usd: Option<f64>,
    pub remaining_usd: Option<f64>,
    pub calls: u64,
    pub unpriced_calls: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DaySpending {
    pub day: String,
    pub spent_usd: f64,
    pub calls: u64,
    pub unpriced_calls: u64,
}
