//! Workspaces as requests name them.

use crate::Result;
use domain::Refusal;
use domain::ids::{UserId, WorkspaceId};
use store::Tx;

/// `personal` is everybody's word for their own.
pub(crate) fn named(text: &str, user: &UserId) -> Result<WorkspaceId> {
    if text == "personal" { Ok(WorkspaceId::personal(user)) } else { Ok(WorkspaceId::parse(text)?) }
}

pub(crate) async fn require_member(tx: &mut Tx, user: &UserId, workspace: &WorkspaceId) -> Result<()> {
    if tx.is_member(user, workspace).await? { Ok(()) } else { Err(Refusal::workspace_not_found().into()) }
}
