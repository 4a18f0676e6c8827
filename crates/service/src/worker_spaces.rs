//! Worker spaces: the live side of projects. What is here can be thrown away at any time: rows are the truth, and
//! authority is never read from here.

pub(crate) mod alerts;
mod cache;
mod endings;
mod looks;
mod spaces;
mod telling;

pub use alerts::{Figures as AlertFigures, ForWebhook, Posting, count_alerts};
pub use cache::CacheFigures;
pub use endings::{cleanup, end_idle_spaces, end_idle_spaces_once, reset};
pub(crate) use endings::{end_if_unused, end_own_if_unused, retire};
pub use looks::{SpaceMetrics, SpaceView, look, status_of};
pub(crate) use spaces::Space;

use crate::{Error, House, Result, bus};
use cache::Cache;
use domain::agents::Agent;
use domain::ids::{AgentId, ProjectId, WorkspaceId};
use spaces::Begun;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{Operation, QueuedFor, Tx};
use tokio::sync::Notify;

/// After the store did not answer.
const BEFORE_WAKING_AGAIN: Duration = Duration::from_secs(1);

/// Every worker space of this process.
#[derive(Default)]
pub struct Spaces {
    by_project: Mutex<HashMap<ProjectId, Arc<Space>>>,
    cache: Cache,
    alerts: alerts::Raised,
    /// Rung when a space begins: whoever waits for the next to idle has to look again.
    began: Notify,
}

impl Spaces {
    fn lock(&self) -> MutexGuard<'_, HashMap<ProjectId, Arc<Space>>> {
        self.by_project.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Space>> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn get(&self, project: &ProjectId) -> Option<Arc<Space>> {
        self.lock().get(project).cloned()
    }

    pub fn cache(&self) -> &CacheFigures {
        self.cache.figures()
    }

    pub fn alerts(&self) -> &alerts::Figures {
        self.alerts.figures()
    }

    /// How many spaces are at work.
    pub fn open(&self) -> usize {
        self.lock().values().filter(|space| !space.takes_no_more()).count()
    }

    /// An agent's configuration as it is now, from memory if nothing has changed since; none if there is no such agent.
    pub(crate) async fn agent(&self, house: &House, space: &Space, id: &AgentId) -> Result<Option<Arc<Agent>>> {
        self.cache.get(house, space, id).await
    }

    /// The space of a project, not one that has ended: that is replaced.
    fn place(&self, workspace: &WorkspaceId, project: &ProjectId) -> Arc<Space> {
        let mut spaces = self.lock();
        let before = spaces.get(project);
        if let Some(space) = before.filter(|space| !space.takes_no_more()) {
            return space.clone();
        }
        let space = Arc::new(Space::new(workspace.clone(), project.clone(), before.is_some()));
        spaces.insert(project.clone(), space.clone());
        space
    }
}

/// The worker space of a project that somebody was found to see, begun if it is not there. However many ask at once, it is
/// begun once.
pub(crate) async fn open(house: &House, workspace: &WorkspaceId, project: &ProjectId) -> Result<Arc<Space>> {
    loop {
        let space = house.spaces().place(workspace, project);
        match space.begin(house).await? {
            Begun::Ready => return Ok(space),
            // It was ended while it began: the next is another.
            Begun::Ended => {}
        }
    }
}

/// A project is no more: nothing works there.
pub(crate) fn forget(house: &House, project: &ProjectId) {
    if let Some(space) = house.spaces().lock().remove(project) {
        space.shut();
    }
    house.spaces().cache.clear(project);
    house.bus().stop_project(project);
}

/// Has the workers of an agent look for what there is to do.
pub(crate) async fn wake(house: &House, workspace: &WorkspaceId, project: &ProjectId, agent: &AgentId) -> Result<()> {
    loop {
        let space = open(house, workspace, project).await?;
        space.touch(house.now());
        let Some(agent) = house.spaces().agent(house, &space, agent).await? else { return Ok(()) };
        // One that has ended meanwhile is followed by another.
        if bus::ring(house, &space, &agent.id, agent.settings.concurrency_limit) {
            return Ok(());
        }
    }
}

/// The same for what is on disk already: it is not lost because nobody could be woken at once.
pub(crate) async fn wake_surely(house: &House, queued: QueuedFor) {
    let QueuedFor { workspace, project, agent } = &queued;
    let Err(error) = wake(house, workspace, project, agent).await else { return };
    tracing::warn!(%project, %error, "an agent could not be woken; it is tried again");
    let house = house.clone();
    tokio::spawn(async move {
        let QueuedFor { workspace, project, agent } = &queued;
        while !house.authority().is_closing() {
            tokio::time::sleep(BEFORE_WAKING_AGAIN).await;
            if wake(&house, workspace, project, agent).await.is_ok() {
                return;
            }
        }
    });
}

/// The last look of a worker whose space has ended: if another space has begun meanwhile, its workers found the places
/// of the agent taken by the turns of this one, and nobody else tells them that one is free.
pub(crate) async fn hand_over(house: &House, space: &Space, agent: &AgentId) {
    let next = house.spaces().get(space.project()).filter(|next| !next.takes_no_more());
    if !space.takes_no_more() || next.is_none() {
        return;
    }
    let (workspace, project) = (space.workspace().clone(), space.project().clone());
    wake_surely(house, QueuedFor { workspace, project, agent: agent.clone() }).await;
}

/// Has everything worked on that waits in the queues: for a house that opens.
pub async fn resume(house: &House) -> Result<()> {
    resume_some(house, |_| true).await
}

/// The same for one project.
async fn resume_project(house: &House, id: &ProjectId) -> Result<()> {
    resume_some(house, |project| project == id).await
}

async fn resume_some(house: &House, is_meant: impl Fn(&ProjectId) -> bool) -> Result<()> {
    for queued in house.store().read(Queued).await?.into_iter().filter(|queued| is_meant(&queued.project)) {
        wake_surely(house, queued).await;
    }
    Ok(())
}

struct Queued;

impl Operation for Queued {
    type Output = Vec<QueuedFor>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<QueuedFor>> {
        Ok(tx.agents_with_queued_tasks().await?)
    }
}
