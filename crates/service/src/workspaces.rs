//! Workspaces as requests name them.

use crate::Result;
use domain::ids::{UserId, WorkspaceId};
use domain::{Code, Refusal};
use store::Tx;

/// `personal` is everybody's word for their own.
pub(crate) fn named(text: &str, user: &UserId) -> Result<WorkspaceId> {
    if text == "personal" { Ok(WorkspaceId::personal(user)) } else { Ok(WorkspaceId::parse(text)?) }
}

/// A run-time change of what the configuration file says.
pub(crate) fn defined_in_file(part: &str) -> Refusal {
    let message = format!("the configuration file says this under `{part}`: change it there");
    Refusal::new(Code::DefinedInFile, message).with("part", part)
}

pub(crate) async fn require_member(tx: &mut Tx, user: &UserId, workspace: &WorkspaceId) -> Result<()> {
    if tx.is_member(user, workspace).await? { Ok(()) } else { Err(Refusal::workspace_not_found().into()) }
}
