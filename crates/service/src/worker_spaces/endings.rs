//! How a worker space ends: by request, by an admin, after idling, or when nobody works in its project any more. Rows and
//! people's files are not touched.

use super::{Space, Spaces, looks};
use crate::projects::{self, ProjectRef};
use crate::{Ctx, Error, House, Result, rules, tasks};
use domain::callers::Caller;
use domain::ids::{AgentId, ProjectId, TaskId, UserId, WorkspaceId};
use domain::tasks::{Task, TaskStatus};
use domain::times::Timestamp;
use domain::worker_spaces::SpaceStatus;
use std::sync::Arc;
use std::time::Duration;
use store::{Operation, Tx};
use tasks::transitions::{self, Mover};

/// How long running tasks may go on when their space ends.
const GRACE: Duration = Duration::from_secs(30);
const AFTER_FAILURE: Duration = Duration::from_secs(60);
const A_LITTLE: Duration = Duration::from_millis(10);

/// Ends the worker space of a project: what runs may finish for half a minute, the rest waits in its queue.
pub async fn cleanup(ctx: &Ctx, project: ProjectRef) -> Result<looks::SpaceView> {
    ctx.caller.require_person()?;
    let caller = ctx.caller.clone();
    let found = ctx.house.store().read(projects::FindManaged { caller, reference: project.clone() }).await?;
    if let Some(space) = ctx.house.spaces().get(&found.id) {
        let house = ctx.house.clone();
        // On its own feet: it goes on whether or not the caller waits.
        let ending = tokio::spawn(async move { end(&house, &space, GRACE).await });
        let _ = ending.await;
    }
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
        let why = "cancelled: its worker space was ended";
        let running = RunningOf { workspace: space.workspace().clone(), project: space.project().clone() };
        cancel_all(house, space.workspace(), house.store().read(running).await?, why).await;
        // A turn that is told to stop does so at its next wait.
        let _ = tokio::time::timeout(GRACE, space.is_quiet()).await;
    }
    house.spaces().cache.clear(space.project());
    space.move_to(house, SpaceStatus::Stopped);
    Ok(())
}

/// Cancels tasks because of what happened to their agent or space; one that has ended meanwhile stays as it is.
async fn cancel_all(house: &House, workspace: &WorkspaceId, tasks: Vec<Task>, why: &'static str) {
    for task in tasks {
        let (project, id) = (task.project.clone(), task.id.clone());
        let cancel = Cancel { workspace: workspace.clone(), project, id, why, now: house.now() };
        match house.store().write(workspace, cancel).await {
            Ok(()) => house.bus().stop(&task.id),
            Err(error) => tracing::debug!(task = %task.id, %error, "a task was not cancelled"),
        }
    }
}

struct RunningOf {
    workspace: WorkspaceId,
    project: ProjectId,
}

impl Operation for RunningOf {
    type Output = Vec<Task>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Task>> {
        const MOST: u64 = 10_000;
        let status = Some(TaskStatus::Running);
        Ok(tx.scope(&self.workspace).tasks().page(&self.project, status, "", MOST).await?)
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
        match open {
            Ok(open) => cancel_all(&house, &workspace, open, "cancelled: its agent was deleted").await,
            Err(error) => tracing::warn!(%error, "tasks of a deleted agent could not be looked for"),
        }
    });
}

struct OpenOf {
    workspace: WorkspaceId,
    agent: AgentId,
}

impl Operation for OpenOf {
    type Output = Vec<Task>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Task>> {
        Ok(tx.scope(&self.workspace).tasks().open_of_agent(&self.agent).await?)
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
        let is_due = space.running() == 0 && idle_for >= idle_ms;
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
