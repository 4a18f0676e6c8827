//! A message about an approval that showed something else than what is to be decided now.

use crate::World;
use domain::ids::{ApprovalId, WorkspaceId};
use store::{Operation, Tx};

impl World {
    /// Lets what was told about an approval be about other bytes.
    pub async fn tell_something_else(&self, workspace: &str, approval: &str) {
        let workspace = WorkspaceId::parse(workspace).expect("a name");
        let approval = ApprovalId::parse(approval).expect("an approval");
        self.house.store().write(&workspace.clone(), Alter { workspace, approval }).await.expect("written");
    }
}

struct Alter {
    workspace: WorkspaceId,
    approval: ApprovalId,
}

impl Operation for Alter {
    type Output = ();
    type Error = store::Error;

    async fn run(&self, tx: &mut Tx) -> Result<(), store::Error> {
        for mut notice in tx.scope(&self.workspace).notices().of(&self.approval).await? {
            if let Some(told) = &mut notice.told {
                told.digest = "0".repeat(64);
            }
            tx.scope(&self.workspace).notices().advance(&notice).await?;
        }
        Ok(())
    }
}
