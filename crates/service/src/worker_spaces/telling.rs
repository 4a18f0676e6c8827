//! Telling a workspace what happens in its projects' worker spaces.

use crate::{Error, Result};
use domain::events::Event;
use domain::ids::WorkspaceId;
use store::{Operation, Tx};

pub(super) struct Tell {
    pub(super) workspace: WorkspaceId,
    pub(super) event: Event,
}

impl Operation for Tell {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        // A project that was deleted meanwhile has nobody to tell.
        if let Some(project) = &self.event.project
            && tx.scope(&self.workspace).projects().get(project).await?.is_none()
        {
            return Ok(());
        }
        Ok(tx.scope(&self.workspace).events().append_workspace(&self.event).await?)
    }
}
