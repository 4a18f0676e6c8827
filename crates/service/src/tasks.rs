//! Tasks of a project: looked at, cancelled. What moves them on is in `bus`, how they move in `transitions`.

pub(crate) mod deadlines;
pub(crate) mod recovery;
pub(crate) mod transitions;

pub use deadlines::{end_overdue_tasks, end_overdue_tasks_once};

use crate::paging::{Listed, Page};
use crate::projects::{self, ProjectRef};
use crate::{Ctx, Error, House, Result, worker_spaces};
use domain::Refusal;
use domain::callers::Caller;
use domain::ids::{ProjectId, TaskId, WorkspaceId};
use domain::policy::may_cancel;
use domain::projects::Project;
use domain::tasks::{Task, TaskStatus, has_ended};
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, QueuedFor, Tx};
use transitions::Mover;

/// A task as its project's people see it.
pub async fn get(ctx: &Ctx, project: ProjectRef, id: &str) -> Result<Task> {
    ctx.caller.require_person()?;
    let id = TaskId::parse(id)?;
    ctx.house.store().read(Get { caller: ctx.caller.clone(), project, id }).await
}

struct Get {
    caller: Arc<Caller>,
    project: ProjectRef,
    id: TaskId,
}

async fn find(tx: &mut Tx, caller: &Caller, project: &ProjectRef, id: &TaskId) -> Result<(Project, Task)> {
    let project = projects::find(tx, caller, project).await?;
    let task = tx.scope(&project.workspace).tasks().get(&project.id, id).await?;
    Ok((project, task.ok_or_else(Refusal::task_not_found)?))
}

impl Operation for Get {
    type Output = Task;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Task> {
        Ok(find(tx, &self.caller, &self.project, &self.id).await?.1)
    }
}

/// The tasks of a project, newest first.
pub async fn list(ctx: &Ctx, project: ProjectRef, status: Option<&str>, page: Page) -> Result<Listed<Task>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let before = page.after(1)?.remove(0);
    let unknown =
        || Refusal::invalid_field("status", "`status` is queued, running, waiting, completed, failed or cancelled");
    let status = status.map(|text| TaskStatus::parse(text).ok_or_else(unknown)).transpose()?;
    let operation = List { caller: ctx.caller.clone(), project, status, before, limit: limit + 1 };
    let items = ctx.house.store().read(operation).await?;
    Ok(Listed::cut(items, limit, |task| vec![task.id.as_str().to_owned()]))
}

struct List {
    caller: Arc<Caller>,
    project: ProjectRef,
    status: Option<TaskStatus>,
    before: String,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Task>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Task>> {
        let project = projects::find(tx, &self.caller, &self.project).await?;
        Ok(tx.scope(&project.workspace).tasks().page(&project.id, self.status, &self.before, self.limit).await?)
    }
}

/// What a task waited for has come: it queues for a place among the running, and its agent hears of it.
pub async fn resume(house: &House, workspace: &WorkspaceId, project: &ProjectId, id: &TaskId) -> Result<Task> {
    let (workspace, project) = (workspace.clone(), project.clone());
    let operation = Resume { workspace: workspace.clone(), project: project.clone(), id: id.clone(), now: house.now() };
    let task = house.store().write(&workspace, operation).await?;
    worker_spaces::wake(house, &workspace, &project, &task.agent.id).await?;
    Ok(task)
}

struct Resume {
    workspace: WorkspaceId,
    project: ProjectId,
    id: TaskId,
    now: Timestamp,
}

impl Operation for Resume {
    type Output = Task;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Task> {
        let found = tx.scope(&self.workspace).tasks().get(&self.project, &self.id).await?;
        let before = found.ok_or_else(Refusal::task_not_found)?;
        let after = before.resumed().ok_or_else(|| has_ended(before.status))?;
        transitions::put(tx, &self.workspace, &before, &after, Mover::House, self.now).await?;
        Ok(after)
    }
}

/// Ends a task that has not ended: for the person it runs for, and for whoever answers for the project.
pub async fn cancel(ctx: &Ctx, project: ProjectRef, id: &str) -> Result<Task> {
    ctx.caller.require_person()?;
    let id = TaskId::parse(id)?;
    let operation = Cancel { caller: ctx.caller.clone(), project, id, now: ctx.now() };
    let (house, turn) = (ctx.house.clone(), WorkspaceId::personal(&ctx.caller.user));
    // On its own feet: once the row has moved the worker must hear of it, whether or not the caller still waits.
    let done = tokio::spawn(async move {
        let (workspace, task) = house.store().write(&turn, operation).await?;
        house.bus().stop(&task.id);
        // Its place is free, and nobody may be there to notice.
        worker_spaces::wake_surely(&house, QueuedFor::of(&workspace, &task)).await;
        Ok(task)
    });
    done.await.unwrap_or_else(|_| Err(store::Error::BadOperation("a cancellation panicked").into()))
}

struct Cancel {
    caller: Arc<Caller>,
    project: ProjectRef,
    id: TaskId,
    now: Timestamp,
}

impl Operation for Cancel {
    type Output = (WorkspaceId, Task);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let (project, before) = find(tx, &self.caller, &self.project, &self.id).await?;
        may_cancel(&project, &before.sender.user, &self.caller.user, &self.caller.role)?;
        let workspace = project.workspace;
        let why = format!("cancelled by {}", self.caller.user);
        let mover = Mover::Caller(&self.caller);
        let task = transitions::cancel(tx, &workspace, &before, &why, mover, self.now).await?;
        Ok((workspace, task))
    }
}
