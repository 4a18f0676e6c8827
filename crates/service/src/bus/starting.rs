//! Starting a task: one transaction that finds the next one, looks whether it may run, and says so.

use crate::messages::kept;
use crate::tasks::transitions::{Mover, put_in};
use crate::worker_spaces::Space;
use crate::{Error, House, Result};
use domain::Refusal;
use domain::agents::Agent;
use domain::ids::{AgentId, MessageId, WorkspaceId};
use domain::messages::Failure;
use domain::roles::Role;
use domain::sessions::Session;
use domain::tasks::{Task, TaskStatus};
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, Tx};

/// A task that runs here now, with what its turn needs.
pub(crate) struct Started {
    pub(crate) task: Task,
    pub(crate) agent: Arc<Agent>,
    pub(crate) session: Session,
    /// What the person it runs for may do, as of now.
    pub(crate) role: Role,
    /// Whether another could start right away.
    pub(crate) more: bool,
}

/// Starts the next task of an agent, if there is one and the agent's limit has room.
pub(super) async fn start_next(house: &House, space: &Arc<Space>, agent: &AgentId) -> Result<Option<Started>> {
    loop {
        if space.takes_no_more() {
            return Ok(None);
        }
        let Some(agent) = house.spaces().agent(house, space, agent).await? else { return Ok(None) };
        let start = Start {
            workspace: space.workspace().clone(),
            agent: agent.id.clone(),
            limit: agent.settings.concurrency_limit,
            holder: house.holder().to_owned(),
            message: MessageId::generated(house.unique()),
            now: house.now(),
        };
        match house.store().write(&space.workspace().clone(), start).await? {
            Next::Nothing => return Ok(None),
            Next::Refused => {}
            Next::Started { task, session, role, more } => {
                return Ok(Some(Started { task: *task, agent, session: *session, role, more }));
            }
        }
    }
}

struct Start {
    workspace: WorkspaceId,
    agent: AgentId,
    limit: u64,
    holder: String,
    /// For a task that can no longer run.
    message: MessageId,
    now: Timestamp,
}

enum Next {
    Nothing,
    /// One could not run any more and has ended; there may be another.
    Refused,
    Started {
        task: Box<Task>,
        session: Box<Session>,
        role: Role,
        more: bool,
    },
}

impl Operation for Start {
    type Output = Next;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Next> {
        let counts = tx.scope(&self.workspace).tasks().unfinished(&self.agent).await?;
        if counts.queued == 0 || counts.running >= self.limit {
            return Ok(Next::Nothing);
        }
        let Some(before) = tx.scope(&self.workspace).tasks().next_of(&self.agent).await? else {
            return Ok(Next::Nothing);
        };
        // The session goes with its tasks: one without the other is damage, and is told as such.
        let found = tx.scope(&self.workspace).sessions().get(&before.session).await?;
        let mut session = found.ok_or_else(Refusal::session_not_found)?;
        let role = match self.standing(tx, &before).await {
            Ok(role) => role,
            Err(Error::Refused(refusal)) => return self.refuse(tx, &mut session, &before, refusal.into()).await,
            Err(error) => return Err(error),
        };
        let Some(task) = before.started(&self.holder, self.now) else { return Ok(Next::Nothing) };
        put_in(tx, &mut session, &before, &task, Mover::For(&task.sender), self.now).await?;
        tx.scope(&self.workspace).sessions().save(&session).await?;
        let more = counts.queued > 1 && counts.running + 1 < self.limit;
        Ok(Next::Started { task: Box::new(task), session: Box::new(session), role, more })
    }
}

impl Start {
    /// Whoever sent it may have left since.
    async fn standing(&self, tx: &mut Tx, task: &Task) -> Result<Role> {
        standing(tx, &self.workspace, task).await
    }

    async fn refuse(&self, tx: &mut Tx, session: &mut Session, before: &Task, why: Failure) -> Result<Next> {
        let Some(after) = before.ended(TaskStatus::Failed, Some(why), self.now) else { return Ok(Next::Nothing) };
        let ending = kept::ending(&after, self.message.clone(), String::new(), self.now);
        let after = after.replied(kept::append(tx, session, ending).await?);
        put_in(tx, session, before, &after, Mover::House, self.now).await?;
        tx.scope(&self.workspace).sessions().save(session).await?;
        Ok(Next::Refused)
    }
}

/// What the person a task runs for may do now; refused if they have left.
pub(crate) async fn standing(tx: &mut Tx, workspace: &WorkspaceId, task: &Task) -> Result<Role> {
    let user = &task.sender.user;
    if !tx.is_member(user, workspace).await? {
        let message = "whoever sent this is no longer a member of the workspace";
        return Err(Refusal::forbidden(message).into());
    }
    let found = tx.user(user).await?;
    Ok(found.ok_or_else(|| Refusal::forbidden("whoever sent this is no longer here"))?.role)
}
