//! A workspace's own project: made on first use, belongs to nobody in particular. In a workspace of several its agents
//! are shared, so that nobody's private items enter a group's history.

use super::{Staffed, record};
use crate::workspaces::require_member;
use crate::{Ctx, Result, agents};
use domain::agents::{AgentShape, Visibility};
use domain::callers::Caller;
use domain::ids::{AgentId, ProjectId, WorkspaceId};
use domain::projects::{HOME, Project};
use domain::roles::Role;
use domain::times::Timestamp;
use domain::workspaces::is_reserved;
use domain::{Refusal, Result as Decided};
use store::Tx;

/// Everything that making it would need, at hand before the transaction.
pub(crate) struct Blank {
    staffed: Staffed,
}

impl Blank {
    pub(crate) fn new(ctx: &Ctx, workspace: &WorkspaceId, starters: [AgentShape; 4]) -> Self {
        let project = Project {
            workspace: workspace.clone(),
            id: ProjectId::generated(ctx.house.unique()),
            name: HOME.to_owned(),
            key_conventions: None,
            created_by: ctx.caller.user.clone(),
            created_at: ctx.now(),
        };
        let visibility = visibility_in(workspace);
        let agents = starters.map(|shape| {
            let shape = AgentShape { visibility, ..shape };
            agents::made(&project, AgentId::generated(ctx.house.unique()), shape)
        });
        Self { staffed: Staffed { project, agents: agents.into() } }
    }

    /// The home project, made now if this is its first use. For members.
    pub(crate) async fn open(&self, tx: &mut Tx, caller: &Caller, now: Timestamp) -> Result<Project> {
        let Staffed { project, agents } = &self.staffed;
        require_member(tx, &caller.user, &project.workspace).await?;
        if let Some(found) = find(tx, &project.workspace).await? {
            return Ok(found);
        }
        tx.scope(&project.workspace).projects().create(project).await?;
        for agent in agents {
            tx.scope(&project.workspace).agents(&project.id).create(agent).await?;
        }
        tx.scope(&project.workspace).audit().append(record(caller, "project.create", project, now));
        Ok(project.clone())
    }
}

/// In whose memory the agents of a home project work.
pub(crate) fn visibility_in(workspace: &WorkspaceId) -> Visibility {
    if is_reserved(workspace.as_str()) { Visibility::Private } else { Visibility::Shared }
}

pub(crate) async fn find(tx: &mut Tx, workspace: &WorkspaceId) -> Result<Option<Project>> {
    Ok(tx.scope(workspace).projects().named(HOME).await?)
}

/// It belongs to the workspace: admins change it, and in somebody's own workspace they themselves.
pub(crate) fn may_manage(project: &Project, caller: &Caller) -> Decided<()> {
    if caller.role == Role::Admin || project.workspace == WorkspaceId::personal(&caller.user) {
        return Ok(());
    }
    Err(Refusal::forbidden("the home project belongs to the workspace: an admin changes it"))
}

/// Its agents are all of the kind that its workspace needs.
pub(crate) fn may_have(project: &Project, visibility: Visibility) -> Decided<()> {
    let needed = visibility_in(&project.workspace);
    if !project.is_home() || visibility == needed {
        return Ok(());
    }
    let message = format!("agents of this home project are {}", needed.as_str());
    Err(Refusal::invalid_field("visibility", message))
}
