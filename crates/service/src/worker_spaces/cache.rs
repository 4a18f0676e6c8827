//! Agents' configuration in memory: for a while, at most so many, and only as long as no agent was changed since.

use super::Space;
use super::alerts;
use crate::{Error, House, Result, rules};
use domain::agents::Agent;
use domain::ids::{AgentId, ProjectId, WorkspaceId};
use domain::times::Timestamp;
use domain::worker_spaces::Alert;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Operation, Tx};

/// Agents in memory, of all projects together.
const AGENTS_MOST: usize = 1_000;

#[derive(Default)]
pub(crate) struct Cache {
    agents: Mutex<HashMap<AgentId, Kept>>,
    figures: CacheFigures,
}

#[derive(Default)]
pub struct CacheFigures {
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    pub size: AtomicU64,
}

struct Kept {
    agent: Arc<Agent>,
    read_at: Timestamp,
    /// How many changes of agents there had been when it was read.
    epoch: u64,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Kept>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn figures(&self) -> &CacheFigures {
        &self.figures
    }

    /// How many agents of a project are in memory.
    pub(crate) fn of_project(&self, project: &ProjectId) -> u64 {
        self.lock().values().filter(|kept| kept.agent.project == *project).count() as u64
    }

    pub(crate) async fn get(&self, house: &House, space: &Space, id: &AgentId) -> Result<Option<Arc<Agent>>> {
        let lasts_s = rules::in_force(house).await?.house.worker_space.cache_ttl_s;
        // Before the row is read: a change that comes in between makes what was read count as old.
        let epoch = house.store().agents_epoch();
        let now = house.now();
        let fresh = |kept: &&Kept| {
            kept.epoch == epoch && now < kept.read_at.plus_seconds(lasts_s) && kept.agent.project == *space.project()
        };
        if let Some(kept) = self.lock().get(id).filter(fresh) {
            self.figures.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(kept.agent.clone()));
        }
        self.figures.misses.fetch_add(1, Ordering::Relaxed);
        let (workspace, project) = (space.workspace().clone(), space.project().clone());
        let found = house.store().read(Read { workspace, project, only: Some(id.clone()) }).await?;
        let agent = found.into_iter().next().map(Arc::new);
        self.keep(house, agent.iter().cloned(), epoch, space).await;
        Ok(agent)
    }

    /// Reads all agents of a project that begins to work.
    pub(crate) async fn load(&self, house: &House, space: &Space) -> Result<()> {
        let epoch = house.store().agents_epoch();
        let (workspace, project) = (space.workspace().clone(), space.project().clone());
        let found = house.store().read(Read { workspace, project, only: None }).await?;
        self.keep(house, found.into_iter().map(Arc::new), epoch, space).await;
        Ok(())
    }

    async fn keep(&self, house: &House, agents: impl Iterator<Item = Arc<Agent>>, epoch: u64, space: &Space) {
        let read_at = house.now();
        let was_full = {
            let mut kept = self.lock();
            for agent in agents {
                kept.insert(agent.id.clone(), Kept { agent, read_at, epoch });
            }
            let is_full = kept.len() > AGENTS_MOST;
            if is_full {
                trim(&mut kept);
            }
            self.figures.size.store(kept.len() as u64, Ordering::Relaxed);
            is_full
        };
        if was_full {
            let text = format!("{AGENTS_MOST} agents are in memory: those read longest ago are read again when needed");
            alerts::raise(house, space.workspace(), space.project(), Alert::CacheFull, "agents", &text).await;
        }
    }

    /// Forgets the agents of a project.
    pub(crate) fn clear(&self, project: &ProjectId) {
        let mut kept = self.lock();
        kept.retain(|_, kept| kept.agent.project != *project);
        kept.shrink_to_fit();
        self.figures.size.store(kept.len() as u64, Ordering::Relaxed);
    }
}

/// Forgets those that were read longest ago, a tenth more than must be, so that it is not done for every one.
fn trim(kept: &mut HashMap<AgentId, Kept>) {
    let mut by_age: Vec<(Timestamp, AgentId)> = kept.iter().map(|(id, kept)| (kept.read_at, id.clone())).collect();
    by_age.sort_unstable();
    let too_many = kept.len() - AGENTS_MOST + AGENTS_MOST / 10;
    for (_, id) in by_age.into_iter().take(too_many) {
        kept.remove(&id);
    }
}

struct Read {
    workspace: WorkspaceId,
    project: ProjectId,
    only: Option<AgentId>,
}

impl Operation for Read {
    type Output = Vec<Agent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Agent>> {
        match &self.only {
            Some(id) => Ok(tx.scope(&self.workspace).agents(&self.project).get(id).await?.into_iter().collect()),
            None => Ok(tx.scope(&self.workspace).agents(&self.project).all().await?),
        }
    }
}
