//! Worker spaces: the live side of a project.

use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WorkerSpace {
    /// `initializing`, `ready`, `degraded`, `cleaning` or `stopped`. One that is stopped begins again when it is needed.
    pub status: String,
    /// `healthy`, `degraded` or `unhealthy`.
    pub health: String,
    pub reasons: Vec<String>,
    pub metrics: WorkerSpaceMetrics,
    pub user_prefix: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_active_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WorkerSpaceMetrics {
    pub agents: u64,
    /// Agents that have something to do now.
    pub active_agents: u64,
    /// Agents of this project in memory.
    pub cache_size: u64,
    /// Of the whole house, since it started.
    pub cache_hits: u64,
    pub cache_misses: u64,
    pub queued_tasks: u64,
    pub running_tasks: u64,
    pub waiting_tasks: u64,
    /// Tasks that ran to an end here, and how long they took.
    pub tasks_ended: u64,
    pub mean_task_ms: u64,
    pub longest_task_ms: u64,
}
