//! Worker spaces: the live side of projects. What is here can be thrown away at any time: rows are the truth, and
//! authority is never read from here.

pub(crate) mod alerts;
mod cache;
mod endings;
mod looks;
mod spaces;
mod telling;

pub use alerts::{Figures as AlertFigures, post_to_webhook};
pub use cache::CacheFigures;
pub use endings::{cleanup, end_idle_spaces, end_idle_spaces_once, reset};
pub(crate) use endings::{end_if_unused, end_own_if_unused, retire};
pub use looks::{SpaceMetrics, SpaceView, look, status_of};
pub(crate) use spaces::Space;

use crate::{Error, House, Result, bus};
use cache::Cache;
use domain::agents::Agent;
use domain::ids::{AgentId, ProjectId, WorkspaceId};
use domain::projects::Project;
use spaces::Begun;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Operation, QueuedFor, Tx};
use tokio::sync::Notify;

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
        let found = spaces.get(project).filter(|space| !space.takes_no_more()).cloned();
        found.unwrap_or_else(|| {
            let space = Arc::new(Space::new(workspace.clone(), project.clone()));
            spaces.insert(project.clone(), space.clone());
            space
        })
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

/// Begins the space of a project that this process has not seen yet. One that was ended stays so until it is needed.
pub(crate) async fn begin_unseen(house: &House, project: &Project) -> Result<()> {
    if house.spaces().get(&project.id).is_none() {
        open(house, &project.workspace, &project.id).await?;
    }
    Ok(())
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
    let space = open(house, workspace, project).await?;
    space.touch(house.now());
    let Some(agent) = house.spaces().agent(house, &space, agent).await? else { return Ok(()) };
    bus::ring(house, &space, &agent.id, agent.settings.concurrency_limit);
    Ok(())
}

/// The last look of a worker whose space has ended: if another space has begun meanwhile, its workers found the places
/// of the agent taken by the turns of this one, and nobody else tells them that one is free.
pub(crate) async fn hand_over(house: &House, space: &Space, agent: &AgentId) {
    let next = house.spaces().get(space.project()).filter(|next| !next.takes_no_more());
    if !space.takes_no_more() || next.is_none() {
        return;
    }
    if let Err(error) = wake(house, space.workspace(), space.project(), agent).await {
        tracing::warn!(project = %space.project(), %error, "queued tasks of an agent cannot be looked at yet");
    }
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
    for QueuedFor { workspace, project, agent } in house.store().read(Queued).await? {
        if !is_meant(&project) {
            continue;
        }
        if let Err(error) = wake(house, &workspace, &project, &agent).await {
            tracing::error!(%project, %error, "queued tasks of a project cannot be resumed yet");
        }
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
