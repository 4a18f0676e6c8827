//! What a turn may do at this moment: its task must still be running, and its person still be here.

use super::{Host, Stage};
use crate::budgets::Reserve;
use crate::bus::standing;
use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::callers::{AgentRef, Caller, Credential};
use domain::ids::WorkspaceId;
use domain::roles::Role;
use domain::tasks::{Task, TaskStatus, has_ended};
use std::sync::Arc;
use store::{Operation, Tx};

impl Host {
    /// The agent at work, for its person.
    pub(super) fn acting(&self, role: Role) -> Ctx {
        let agent = AgentRef {
            workspace: self.workspace.clone(),
            project: self.task.project.clone(),
            id: self.agent.id.clone(),
        };
        let caller = Caller {
            user: self.task.sender.user.clone(),
            role,
            participant: crate::messages::kept::participant(&self.task),
            credential: Credential::Agent { agent, session: Some(self.task.session.clone()) },
        };
        Ctx { caller: Arc::new(caller), house: self.house.clone(), token: None, claim: None }
    }

    /// The same with the role that the person has now; refused if the task or the person has gone.
    pub(super) async fn acting_now(&self) -> Result<Ctx> {
        if self.stage() == Stage::Picked {
            // Looked at a moment ago, and again when it starts.
            return Ok(self.acting(self.role.clone()));
        }
        let look = Look { workspace: self.workspace.clone(), task: self.task.clone() };
        Ok(self.acting(self.house.store().read(look).await?))
    }
}

/// Refuses what a turn wants whose task was ended by somebody else.
pub(in crate::turns) async fn require_running(tx: &mut Tx, workspace: &WorkspaceId, task: &Task) -> Result<Task> {
    let found = tx.scope(workspace).tasks().get(&task.project, &task.id).await?.ok_or_else(Refusal::task_not_found)?;
    if found.status == TaskStatus::Running { Ok(found) } else { Err(has_ended(found.status).into()) }
}

struct Look {
    workspace: WorkspaceId,
    task: Task,
}

impl Operation for Look {
    type Output = Role;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Role> {
        require_running(tx, &self.workspace, &self.task).await?;
        standing(tx, &self.workspace, &self.task).await
    }
}

/// Sets money aside for a call of a task that still runs.
pub(super) struct SetAside {
    pub(super) reserve: Reserve,
    pub(super) workspace: WorkspaceId,
    pub(super) task: Task,
}

impl Operation for SetAside {
    type Output = ();
    type Error = Error;

    fn is_small(&self) -> bool {
        true
    }

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        require_running(tx, &self.workspace, &self.task).await?;
        self.reserve.run(tx).await
    }
}
