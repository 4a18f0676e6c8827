//! A workspace's own project: made on first use, belongs to nobody in particular. In a workspace of several its agents
//! are shared, so that nobody's private items enter a group's history.

use super::Staffed;
use crate::workspaces::require_member;
use crate::{Ctx, Result};
use domain::agents::{AgentShape, starter_pack};
use domain::callers::Caller;
use domain::ids::WorkspaceId;
use domain::projects::{HOME, Project, home_visibility};
use domain::rules::Rules;
use store::Tx;

/// Everything that making it would need, at hand before the transaction.
pub(crate) fn blank(ctx: &Ctx, workspace: WorkspaceId, rules: &Rules) -> Staffed {
    let visibility = home_visibility(&workspace);
    let starters = starter_pack(rules.workspace(&workspace).model.as_deref());
    let starters = starters.map(|shape| AgentShape { visibility, ..shape });
    Staffed::new(ctx, workspace, HOME.to_owned(), starters)
}

/// The home project, made now if this is its first use. For members.
pub(crate) async fn open(tx: &mut Tx, caller: &Caller, blank: &Staffed) -> Result<Project> {
    let workspace = &blank.project.workspace;
    require_member(tx, &caller.user, workspace).await?;
    if let Some(found) = find(tx, workspace).await? {
        return Ok(found);
    }
    blank.put(tx, caller).await?;
    Ok(blank.project.clone())
}

pub(crate) async fn find(tx: &mut Tx, workspace: &WorkspaceId) -> Result<Option<Project>> {
    Ok(tx.scope(workspace).projects().named(HOME).await?)
}
