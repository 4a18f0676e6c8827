//! What people see of a worker space.

use super::spaces::Durations;
use crate::projects::{self, ProjectRef};
use crate::{Ctx, Error, House, Result, rules};
use domain::ids::{ProjectId, WorkspaceId};
use domain::projects::Project;
use domain::times::Timestamp;
use domain::worker_spaces::{Health, SpaceStatus, is_nearly_full};
use std::sync::atomic::Ordering;
use store::{Condition, Operation, Tx, Unfinished};

#[derive(Debug, Clone, PartialEq)]
pub struct SpaceView {
    pub status: SpaceStatus,
    pub health: Health,
    pub reasons: Vec<String>,
    pub metrics: SpaceMetrics,
    pub last_active_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpaceMetrics {
    /// Agents of the project, and those of them that have something to do.
    pub agents: u64,
    pub active_agents: u64,
    /// Agents of this project in memory; hits and misses are the house's.
    pub cache_size: u64,
    pub cache_hits: u64,
    pub cache_misses: u64,
    pub tasks: Unfinished,
    pub durations: Durations,
}

/// A project's worker space. One that this process has not seen yet begins; one that was ended is shown as ended.
pub async fn look(ctx: &Ctx, project: ProjectRef) -> Result<SpaceView> {
    ctx.caller.require_person()?;
    let find = projects::Find { caller: ctx.caller.clone(), reference: project };
    let project = ctx.house.store().read(find).await?;
    if ctx.house.spaces().get(&project.id).is_none() {
        super::open(&ctx.house, &project.workspace, &project.id).await?;
    }
    view(&ctx.house, &project).await
}

pub(super) async fn view(house: &House, project: &Project) -> Result<SpaceView> {
    let (workspace, id) = (project.workspace.clone(), project.id.clone());
    let (agents, tasks, fullest) = house.store().read(Count { workspace, project: id }).await?;
    let (now, cache) = (house.now(), house.spaces().cache());
    let space = house.spaces().get(&project.id);
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let metrics = SpaceMetrics {
        agents,
        active_agents: space.as_ref().map_or(0, |space| space.active_agents()),
        cache_size: house.spaces().cache.of_project(&project.id),
        cache_hits: load(&cache.hits),
        cache_misses: load(&cache.misses),
        tasks,
        durations: space.as_ref().map(|space| space.durations()).unwrap_or_default(),
    };
    let mut reasons = space.as_ref().map(|space| space.reasons(now)).unwrap_or_default();
    let most = rules::in_force(house).await?.house.worker_space.queue_size;
    let health = health(house, (fullest, most), &mut reasons);
    Ok(SpaceView {
        status: space.as_ref().map_or(SpaceStatus::Stopped, |space| space.status()),
        health,
        reasons,
        metrics,
        last_active_at: space.map(|space| space.last_active_at()),
    })
}

fn health(house: &House, (fullest, most): (u64, u64), reasons: &mut Vec<String>) -> Health {
    let mut health = if reasons.is_empty() { Health::Healthy } else { Health::Degraded };
    if is_nearly_full(fullest, most) {
        reasons.push(format!("{fullest} of {most} places in the queue of an agent are taken"));
        health = health.max(if fullest >= most { Health::Unhealthy } else { Health::Degraded });
    }
    if house.store().condition() != Condition::Healthy {
        reasons.push("writes do not reach the disk".to_owned());
        health = Health::Unhealthy;
    }
    health
}

/// The state of a project's worker space, beside the project. One that this process has not needed yet is ready when it
/// is: nothing is begun by looking at it.
pub fn status_of(house: &House, project: &ProjectId) -> SpaceStatus {
    house.spaces().get(project).map_or(SpaceStatus::Ready, |space| space.status())
}

struct Count {
    workspace: WorkspaceId,
    project: ProjectId,
}

impl Operation for Count {
    /// Agents, unfinished tasks, and the longest queue of one agent.
    type Output = (u64, Unfinished, u64);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let agents = tx.scope(&self.workspace).agents(&self.project).count().await?;
        let unfinished = tx.scope(&self.workspace).tasks().unfinished_of_project(&self.project).await?;
        let longest = tx.scope(&self.workspace).tasks().longest_queue(&self.project).await?;
        Ok((agents, unfinished, longest))
    }
}
