//! Decisions about who may do what, as pure functions. What a caller may not see never gets this far.

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tables;
mod tools;

pub use tools::{Decision, Layer, NETWORK, NODE_CAPABILITIES, Offer, Question, Reason, Source, decide};

use crate::agents::{Agent, Audience, Visibility};
use crate::ids::{UserId, WorkspaceId};
use crate::items::{Item, ItemScope};
use crate::projects::{Project, home_visibility};
use crate::roles::Role;
use crate::{Refusal, Result};

/// Publishing is one-way: what is private may become shared, never the reverse. Asked before the target or the item is
/// looked for, so that a shared agent learns nothing about either.
pub fn may_publish_from(agent: &Agent) -> Result<()> {
    match agent.visibility {
        Visibility::Private => Ok(()),
        Visibility::Shared => Err(Refusal::forbidden("a shared agent does not publish: only private agents do")),
    }
}

pub fn may_publish_to(target: &Agent) -> Result<()> {
    match target.visibility {
        Visibility::Shared => Ok(()),
        Visibility::Private => {
            Err(Refusal::forbidden("the target is a private agent: only shared agents are published to"))
        }
    }
}

/// Whose copy lies there: a member of the target's workspace may replace anything, anybody else only what came from
/// the very scope that it comes from now. Otherwise publishing would be a way to wipe a memory one cannot even read.
pub fn may_overwrite(found: &Item, source: &ItemScope, is_member: bool) -> Result<()> {
    let own = found.published_from.as_ref().is_some_and(|origin| origin.scope == source.as_str());
    if is_member || own {
        return Ok(());
    }
    Err(Refusal::forbidden("what lies under that key is not yours to replace: take another `target_key`"))
}

/// Its creator or an admin changes a project. A home project belongs to the workspace: admins change it, and in
/// somebody's own workspace they themselves.
pub fn may_manage(project: &Project, user: &UserId, role: &Role) -> Result<()> {
    let is_own = project.workspace == WorkspaceId::personal(user);
    match (project.is_home(), role) {
        (_, Role::Admin) => Ok(()),
        (true, _) if is_own => Ok(()),
        (true, _) => Err(Refusal::forbidden("the home project belongs to the workspace: an admin changes it")),
        (false, _) if project.created_by == *user => Ok(()),
        (false, _) => Err(Refusal::forbidden("only the project's creator or an admin may do this")),
    }
}

/// Who stops what runs for somebody: that person, and whoever answers for the project.
pub fn may_cancel(project: &Project, runs_for: &UserId, user: &UserId, role: &Role) -> Result<()> {
    if runs_for == user || project.created_by == *user || *role == Role::Admin {
        return Ok(());
    }
    Err(Refusal::forbidden("only the person it runs for, the project's creator or an admin cancels it"))
}

/// The agents of a home project are all of the kind that its workspace needs.
pub fn may_have(project: &Project, visibility: Visibility) -> Result<()> {
    let needed = home_visibility(&project.workspace);
    if !project.is_home() || visibility == needed {
        return Ok(());
    }
    Err(Refusal::invalid_field("visibility", format!("agents of this home project are {}", needed.as_str())))
}

/// A guest does not put up a sign for the whole house.
pub fn may_show(role: &Role, audience: Audience) -> Result<()> {
    match (role, audience) {
        (Role::Guest, Audience::Everyone) => Err(Refusal::forbidden("a guest's agents are not shown to everyone")),
        _ => Ok(()),
    }
}
