//! How a worker space ends: by request, by an admin, after idling, or when nobody works in its project any more. Rows and
//! people's files are not touched.

use super::{Space, Spaces, looks};
use crate::projects::{self, ProjectRef};
use crate::{Ctx, Error, House, Result, rules, tasks};
use domain::callers::Caller;
use domain::ids::{AgentId, ProjectId, TaskId, UserId, WorkspaceId};
use domain::tasks::TaskStatus;
use domain::times::Timestamp;
use domain::worker_spaces::SpaceStatus;
use std::sync::Arc;
use std::time::Duration;
use store::{Operation, Tx};
use tasks::transitions::{self, Mover};

/// How long running tasks may go on when their space ends.
const GRACE: Duration = Duration::from_secs(30);
const ENDED: &str = "cancelled: its worker space was ended";
const AFTER_FAILURE: Duration = Duration::from_secs(60);
const A_LITTLE: Duration = Duration::from_millis(10);

/// Ends the worker space of a project: what runs may finish for half a minute, what is queued is cancelled.
pub async fn cleanup(ctx: &Ctx, project: ProjectRef) -> Result<looks::SpaceView> {
    ctx.caller.require_person()?;
    let caller = ctx.caller.clone();
    let found = ctx.house.store().read(projects::FindManaged { caller, reference: project.clone() }).await?;
    let house = ctx.house.clone();
    // On its own feet: it goes on whether or not the caller waits.
    let ending = tokio::spawn(async move {
        let queued = QueuedIn { workspace: found.workspace.clone(), project: found.id.clone() };
        let queued = house.store().read(queued).await?;
        cancel_all(&house, (&found.workspace, &found.id), queued, ENDED).await;
        match house.spaces().get(&found.id) {
            Some(space) => end(&house, &space, GRACE).await,
            None => Ok(()),
        }
    });
    ending.await.unwrap_or_else(|_| Err(store::Error::BadOperation("a cleanup panicked").into()))?;
    looks::look(ctx, project).await
}

/// Stops everything in a worker space now and begins it anew. For admins.
pub async fn reset(ctx: &Ctx, project: ProjectRef) -> Result<looks::SpaceView> {
    ctx.caller.require_admin()?;
    let found = ctx.house.store().read(FindAnywhere { caller: ctx.caller.clone(), reference: project }).await?;
    let house = ctx.house.clone();
    let (workspace, id) = (found.workspace.clone(), found.id.clone());
    let again = tokio::spawn(async move {
        if let Some(space) = house.spaces().get(&id) {
            end(&house, &space, Duration::ZERO).await?;
        }
        super::open(&house, &workspace, &id).await?;
        super::resume_project(&house, &id).await
    });
    again.await.unwrap_or_else(|_| Err(store::Error::BadOperation("a reset panicked").into()))?;
    looks::view(&ctx.house, &found).await
}

/// An admin resets any project of the house, by its id, or by its name among those they see.
struct FindAnywhere {
    caller: Arc<Caller>,
    reference: ProjectRef,
}

impl Operation for FindAnywhere {
    type Output = domain::projects::Project;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        if let Ok(id) = ProjectId::parse(&self.reference.id_or_name)
            && let Some(found) = tx.project_anywhere(&id).await?
        {
            return Ok(found);
        }
        projects::find(tx, &self.caller, &self.reference).await
    }
}

/// Lets what runs finish for a while, cancels the rest, frees what the space holds.
async fn end(house: &House, space: &Arc<Space>, grace: Duration) -> Result<()> {
    if !space.move_to(house, SpaceStatus::Cleaning) {
        return Ok(());
    }
    if tokio::time::timeout(grace, space.is_quiet()).await.is_err() {
        // Those of this space only: another may have begun meanwhile.
        cancel_all(house, (space.workspace(), space.project()), space.running(), ENDED).await;
        // A turn that is told to stop does so at its next wait.
        let _ = tokio::time::timeout(GRACE, space.is_quiet()).await;
    }
    house.spaces().cache.clear(space.project());
    space.move_to(house, SpaceStatus::Stopped);
    Ok(())
}

/// Cancels tasks because of what happened to their agent or space; one that has ended meanwhile stays as it is.
async fn cancel_all(
    house: &House,
    (workspace, project): (&WorkspaceId, &ProjectId),
    tasks: impl IntoIterator<Item = TaskId>,
    why: &'static str,
) {
    for id in tasks {
        let (now, id_here) = (house.now(), id.clone());
        let cancel = Cancel { workspace: workspace.clone(), project: project.clone(), id: id_here, why, now };
        match house.store().write(workspace, cancel).await {
            Ok(()) => house.bus().stop(&id),
            Err(error) => tracing::debug!(task = %id, %error, "a task was not cancelled"),
        }
    }
}

struct QueuedIn {
    workspace: WorkspaceId,
    project: ProjectId,
}

impl Operation for QueuedIn {
    type Output = Vec<TaskId>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<TaskId>> {
        const MOST: u64 = 100_000;
        let queued = Some(TaskStatus::Queued);
        let found = tx.scope(&self.workspace).tasks().page(&self.project, queued, "", MOST).await?;
        Ok(found.into_iter().map(|task| task.id).collect())
    }
}

struct Cancel {
    workspace: WorkspaceId,
    project: ProjectId,
    id: TaskId,
    why: &'static str,
    now: Timestamp,
}

impl Operation for Cancel {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let Some(before) = tx.scope(&self.workspace).tasks().get(&self.project, &self.id).await? else {
            return Ok(());
        };
        transitions::cancel(tx, &self.workspace, &before, self.why, Mover::House, self.now).await.map(drop)
    }
}

/// An agent is no more: its workers take nothing new, and what runs may finish for half a minute.
pub(crate) fn retire(house: &House, workspace: &WorkspaceId, project: &ProjectId, agent: &AgentId) {
    let Some(space) = house.spaces().get(project) else { return };
    space.retire(agent);
    let (house, workspace, agent) = (house.clone(), workspace.clone(), agent.clone());
    tokio::spawn(async move {
        let mut authority = house.authority().watch();
        let closing = async { while !house.authority().is_closing() && authority.changed().await.is_ok() {} };
        // A house that closes ends its tasks itself, and nobody may hold it open meanwhile.
        if tokio::time::timeout(GRACE, closing).await.is_ok() {
            return;
        }
        let open = house.store().read(OpenOf { workspace: workspace.clone(), agent }).await;
        let why = "cancelled: its agent was deleted";
        match open {
            Ok(open) => cancel_all(&house, (&workspace, space.project()), open, why).await,
            Err(error) => tracing::warn!(%error, "tasks of a deleted agent could not be looked for"),
        }
    });
}

struct OpenOf {
    workspace: WorkspaceId,
    agent: AgentId,
}

impl Operation for OpenOf {
    type Output = Vec<TaskId>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<TaskId>> {
        let open = tx.scope(&self.workspace).tasks().open_of_agent(&self.agent).await?;
        Ok(open.into_iter().map(|task| task.id).collect())
    }
}

/// Ends spaces that nobody has used for long. Runs until it is dropped.
pub async fn end_idle_spaces(house: &House) {
    loop {
        let began = house.spaces().began.notified();
        let pause = end_idle_spaces_once(house).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "idle worker spaces could not be ended yet");
            Some(AFTER_FAILURE)
        });
        match pause {
            Some(pause) => {
                let _ = tokio::time::timeout(pause + A_LITTLE, began).await;
            }
            None => began.await,
        }
    }
}

/// Ends what has idled for long enough; answers how long it is until there may be more to end.
pub async fn end_idle_spaces_once(house: &House) -> Result<Option<Duration>> {
    let idle_ms = rules::in_force(house).await?.house.worker_space.idle_timeout_s.saturating_mul(1000);
    let (now, mut next) = (house.now(), None);
    for space in house.spaces().all() {
        if space.takes_no_more() {
            continue;
        }
        let idle_for = u64::try_from(now.as_ms() - space.last_active_at().as_ms()).unwrap_or(0);
        let is_due = space.runs_nothing() && idle_for >= idle_ms;
        if is_due && !has_work(house, &space).await? {
            end_unused(house, &space).await?;
        } else {
            let left = Duration::from_millis(idle_ms.saturating_sub(idle_for).max(1_000));
            next = Some(next.map_or(left, |next: Duration| next.min(left)));
        }
    }
    Ok(next)
}

/// Ends a space that nobody seems to need. A message may have come in at the last moment: it may run, or finds the next.
async fn end_unused(house: &House, space: &Arc<Space>) -> Result<()> {
    end(house, space, GRACE).await?;
    if has_work(house, space).await? {
        super::resume_project(house, space.project()).await?;
    }
    Ok(())
}

async fn has_work(house: &House, space: &Space) -> Result<bool> {
    let look = Unfinished { workspace: space.workspace().clone(), project: space.project().clone() };
    let unfinished = house.store().read(look).await?;
    // What waits for a person needs no space until that person has decided.
    Ok(unfinished.queued + unfinished.running > 0)
}

struct Unfinished {
    workspace: WorkspaceId,
    project: ProjectId,
}

impl Operation for Unfinished {
    type Output = store::Unfinished;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<store::Unfinished> {
        Ok(tx.scope(&self.workspace).tasks().unfinished_of_project(&self.project).await?)
    }
}

/// Ends the space of a project in which no session is open any more and nothing is to be done.
pub(crate) async fn end_if_unused(house: &House, workspace: &WorkspaceId, project: &ProjectId) -> Result<()> {
    let Some(space) = house.spaces().get(project) else { return Ok(()) };
    let look = OpenSessions { workspace: workspace.clone(), project: project.clone() };
    if !house.store().read(look).await? && !has_work(house, &space).await? {
        end_unused(house, &space).await?;
    }
    Ok(())
}

struct OpenSessions {
    workspace: WorkspaceId,
    project: ProjectId,
}

impl Operation for OpenSessions {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        Ok(tx.scope(&self.workspace).projects().has_open_session(&self.project).await?)
    }
}

/// Somebody signed out: the spaces of their own workspace end if nothing runs there.
pub(crate) async fn end_own_if_unused(house: &House, user: &UserId) -> Result<()> {
    let own = WorkspaceId::personal(user);
    for space in house.spaces().of_workspace(&own) {
        if !has_work(house, &space).await? {
            end_unused(house, &space).await?;
        }
    }
    Ok(())
}

impl Spaces {
    fn of_workspace(&self, workspace: &WorkspaceId) -> Vec<Arc<Space>> {
        self.all().into_iter().filter(|space| space.workspace() == workspace).collect()
    }
}
