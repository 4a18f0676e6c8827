//! Moves of tasks that no door makes yet.

use crate::world::World;
use domain::ids::{ProjectId, TaskId, WorkspaceId};
use domain::tasks::TaskStatus;
use store::{Operation, Tx};

impl World {
    /// Has a running task wait, as a call that needs an approval does.
    pub async fn park(&self, workspace: &WorkspaceId, project: &ProjectId, task: &str) {
        let task = TaskId::parse(task).expect("a task");
        let park = Park { workspace: workspace.clone(), project: project.clone(), task };
        self.house.store().write(workspace, park).await.expect("parked");
    }
}

struct Park {
    workspace: WorkspaceId,
    project: ProjectId,
    task: TaskId,
}

impl Operation for Park {
    type Output = ();
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> store::Result<()> {
        let found = tx.scope(&self.workspace).tasks().get(&self.project, &self.task).await?;
        let parked = found.and_then(|task| task.parked()).expect("a running task");
        assert!(tx.scope(&self.workspace).tasks().advance(&parked, TaskStatus::Running).await?);
        Ok(())
    }
}
