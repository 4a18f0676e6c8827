//! Picking a task: a look at the rows for the next one that may run. It starts when its first call of the model is paid
//! for (`starting`), in one transaction with that.

use super::starting::standing;
use crate::messages::kept;
use crate::tasks::transitions::{Mover, put_in};
use crate::worker_spaces::Space;
use crate::{Error, House, Result};
use domain::Refusal;
use domain::agents::Agent;
use domain::ids::{AgentId, MessageId, TaskId, WorkspaceId};
use domain::messages::Failure;
use domain::roles::Role;
use domain::sessions::Session;
use domain::tasks::{Task, TaskStatus};
use domain::times::Timestamp;
use std::collections::HashSet;
use std::sync::Arc;
use store::{Operation, Tx};

/// A task that nobody else in this process works on, with what its turn needs.
pub(crate) struct Picked {
    pub(crate) task: Task,
    pub(crate) agent: Arc<Agent>,
    pub(crate) session: Session,
    /// What the person it runs for may do, as of now.
    pub(crate) role: Role,
    /// Whether another could start right away.
    pub(crate) more: bool,
}

/// Picks the next task of an agent, if there is one and the agent's limit seems to have room.
pub(super) async fn pick_next(house: &House, space: &Arc<Space>, agent: &AgentId) -> Result<Option<Picked>> {
    loop {
        if space.takes_no_more() {
            return Ok(None);
        }
        let Some(agent) = house.spaces().agent(house, space, agent).await? else { return Ok(None) };
        let (workspace, limit) = (space.workspace().clone(), agent.settings.concurrency_limit);
        let look = Look { workspace, agent: agent.id.clone(), limit, taken: space.running() };
        match house.store().read(look).await? {
            Seen::Nothing => return Ok(None),
            Seen::Unfit { task, why } => refuse(house, space.workspace(), *task, why).await?,
            Seen::Fit { task, session, role, more } => {
                // Another worker may have looked at the same moment.
                if space.begun(&task.id) {
                    return Ok(Some(Picked { task: *task, agent, session: *session, role, more }));
                }
            }
        }
    }
}

struct Look {
    workspace: WorkspaceId,
    agent: AgentId,
    limit: u64,
    /// What others in this process work on.
    taken: HashSet<TaskId>,
}

enum Seen {
    Nothing,
    /// Whoever sent it has left since: it can no longer run.
    Unfit {
        task: Box<Task>,
        why: Failure,
    },
    Fit {
        task: Box<Task>,
        session: Box<Session>,
        role: Role,
        more: bool,
    },
}

impl Operation for Look {
    type Output = Seen;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Seen> {
        let counts = tx.scope(&self.workspace).tasks().unfinished(&self.agent).await?;
        if counts.queued == 0 || counts.running >= self.limit {
            return Ok(Seen::Nothing);
        }
        let looked_at = self.taken.len() as u64 + 2;
        let next = tx.scope(&self.workspace).tasks().next_of(&self.agent, looked_at).await?;
        let mut free = next.into_iter().filter(|task| !self.taken.contains(&task.id));
        let Some(task) = free.next() else { return Ok(Seen::Nothing) };
        // The session goes with its tasks: one without the other is damage, and is told as such.
        let found = tx.scope(&self.workspace).sessions().get(&task.session).await?;
        let session = Box::new(found.ok_or_else(Refusal::session_not_found)?);
        match standing(tx, &self.workspace, &task).await {
            Ok(role) => Ok(Seen::Fit { task: Box::new(task), session, role, more: free.next().is_some() }),
            Err(Error::Refused(refusal)) => Ok(Seen::Unfit { task: Box::new(task), why: refusal.into() }),
            Err(error) => Err(error),
        }
    }
}

/// Fails a task that has not started and never will.
pub(crate) async fn refuse(house: &House, workspace: &WorkspaceId, task: Task, why: Failure) -> Result<()> {
    let (message, now) = (MessageId::generated(house.unique()), house.now());
    let refuse = Refuse { workspace: workspace.clone(), task, why, message, now };
    house.store().write(workspace, refuse).await
}

struct Refuse {
    workspace: WorkspaceId,
    task: Task,
    why: Failure,
    message: MessageId,
    now: Timestamp,
}

impl Operation for Refuse {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let Self { workspace, task, now, .. } = self;
        let Some(before) = tx.scope(workspace).tasks().get(&task.project, &task.id).await? else { return Ok(()) };
        let Some(mut session) = tx.scope(workspace).sessions().get(&before.session).await? else { return Ok(()) };
        if before.status != TaskStatus::Queued {
            return Ok(());
        }
        let Some(after) = before.ended(TaskStatus::Failed, Some(self.why.clone()), *now) else { return Ok(()) };
        let ending = kept::ending(&after, self.message.clone(), String::new(), *now);
        let after = after.replied(kept::append(tx, &mut session, ending).await?);
        put_in(tx, &mut session, &before, &after, Mover::House, *now).await?;
        Ok(tx.scope(workspace).sessions().save(&session).await?)
    }
}
