//! Starting a task: its row says so, and money is set aside for its first call of the model, in one transaction. No model
//! is asked and no tool is called before that is on disk, so nothing runs twice.

use crate::budgets::Reserve;
use crate::tasks::transitions::{Mover, put_in};
use crate::{Error, Result};
use domain::Refusal;
use domain::ids::{UserId, WorkspaceId};
use domain::roles::Role;
use domain::tasks::{Task, TaskStatus, has_ended};
use domain::times::Timestamp;
use store::{Operation, Tx};

pub(crate) struct Start {
    pub(crate) workspace: WorkspaceId,
    pub(crate) task: Task,
    /// How many tasks of its agent may run.
    pub(crate) limit: u64,
    pub(crate) holder: String,
    /// What its first call of the model may cost; none if it goes on where it waited.
    pub(crate) reserve: Option<Reserve>,
    pub(crate) now: Timestamp,
}

impl Operation for Start {
    /// Whether it runs now; else the agent's limit has no room, and it waits in its queue.
    type Output = bool;
    type Error = Error;

    fn is_small(&self) -> bool {
        true
    }

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        let Self { workspace, task, now, .. } = self;
        let found = tx.scope(workspace).tasks().get(&task.project, &task.id).await?;
        let before = found.ok_or_else(Refusal::task_not_found)?;
        if before.status != TaskStatus::Queued {
            return Err(has_ended(before.status).into());
        }
        if tx.scope(workspace).tasks().unfinished(&task.agent.id).await?.running >= self.limit {
            return Ok(false);
        }
        let found = tx.scope(workspace).sessions().get(&task.session).await?;
        let mut session = found.ok_or_else(Refusal::session_not_found)?;
        standing(tx, workspace, task).await?;
        if let Some(reserve) = &self.reserve {
            reserve.run(tx).await?;
        }
        let after = before.started(&self.holder, *now).ok_or_else(|| has_ended(before.status))?;
        put_in(tx, &mut session, &before, &after, Mover::For(&task.sender), *now).await?;
        tx.scope(workspace).sessions().save(&session).await?;
        Ok(true)
    }
}

/// What the person a task runs for may do now; refused if they have left.
pub(crate) async fn standing(tx: &mut Tx, workspace: &WorkspaceId, task: &Task) -> Result<Role> {
    standing_of(tx, workspace, &task.sender.user).await
}

/// What somebody may do now for whom something is done; refused if they have left.
pub(crate) async fn standing_of(tx: &mut Tx, workspace: &WorkspaceId, user: &UserId) -> Result<Role> {
    if !tx.is_member(user, workspace).await? {
        let message = "whoever sent this is no longer a member of the workspace";
        return Err(Refusal::forbidden(message).into());
    }
    let found = tx.user(user).await?;
    Ok(found.ok_or_else(|| Refusal::forbidden("whoever sent this is no longer here"))?.role)
}
