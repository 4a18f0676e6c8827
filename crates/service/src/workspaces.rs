//! Workspaces: as requests name them, and as their members and those who run the house see them.

mod bindings;
mod changes;
mod members;

pub use bindings::{bind, unbind};
pub use changes::{CreateWorkspace, create, delete, list_all, update};
pub use members::{add_member, remove_member};

use crate::paging::{Listed, Page};
use crate::{Ctx, Error, Result, projects, rules};
use domain::callers::Caller;
use domain::ids::{ProjectId, UserId, WorkspaceId};
use domain::roles::Role;
use domain::rules::Rules;
use domain::times::Timestamp;
use domain::workspaces::{Source, WorkspaceSettings};
use domain::{Code, Refusal};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{BoundPlace, Operation, Tx, WorkspaceRow};

/// `personal` is everybody's word for their own.
pub(crate) fn named(text: &str, user: &UserId) -> Result<WorkspaceId> {
    if text == "personal" { Ok(WorkspaceId::personal(user)) } else { Ok(WorkspaceId::parse(text)?) }
}

pub(crate) async fn require_member(tx: &mut Tx, user: &UserId, workspace: &WorkspaceId) -> Result<()> {
    if tx.is_member(user, workspace).await? { Ok(()) } else { Err(Refusal::workspace_not_found().into()) }
}

/// Finds a workspace for somebody who looks at its rules: a member, or an admin. What is in it needs membership.
pub(crate) async fn find(tx: &mut Tx, caller: &Caller, text: &str) -> Result<WorkspaceRow> {
    caller.require_person()?;
    let id = named(text, &caller.user)?;
    if caller.role != Role::Admin {
        require_member(tx, &caller.user, &id).await?;
    }
    Ok(tx.workspace(&id).await?.ok_or_else(Refusal::workspace_not_found)?)
}

/// A workspace with everything that is said of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub personal_of: Option<UserId>,
    pub created_at: Timestamp,
    /// Who says that it is there; nobody, if it is closed.
    pub sources: Vec<Source>,
    /// What is in force.
    pub settings: WorkspaceSettings,
    pub members: Vec<Member>,
    pub bindings: Vec<Bound>,
    pub home_project: Option<ProjectId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub user: UserId,
    pub role: Role,
    pub sources: Vec<Source>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    pub binding: domain::workspaces::Binding,
    pub source: Source,
}

impl From<BoundPlace> for Bound {
    fn from(bound: BoundPlace) -> Self {
        Self { binding: bound.binding, source: bound.source }
    }
}

/// Puts together what is said of a workspace.
async fn view(tx: &mut Tx, row: WorkspaceRow, rules: &Rules) -> Result<Workspace> {
    let settings = rules.workspace(&row.id);
    let grants = tx.grants(&row.id).await?;
    let mut members = Vec::new();
    for (user, role) in tx.members(&row.id).await? {
        let said = grants.iter().filter(|grant| grant.user == user).map(|grant| grant.source).collect();
        members.push(Member { sources: said, user, role });
    }
    let bindings = tx.bindings(Some(&row.id)).await?.into_iter().map(Into::into).collect();
    let home_project = projects::home::find(tx, &row.id).await?.map(|project| project.id);
    let said = [(row.file.is_some(), Source::File), (row.by_admin, Source::Admin)];
    Ok(Workspace {
        sources: said.into_iter().filter_map(|(says, source)| says.then_some(source)).collect(),
        id: row.id,
        personal_of: row.personal_of,
        created_at: row.created_at,
        settings,
        members,
        bindings,
        home_project,
    })
}

/// The same with the rules as this transaction sees them.
async fn seen(tx: &mut Tx, row: WorkspaceRow) -> Result<Workspace> {
    let rules = rules::read(tx).await?;
    view(tx, row, &rules).await
}

/// The caller's own workspaces, with the personal one.
pub async fn list(ctx: &Ctx, page: Page) -> Result<Listed<Workspace>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let operation = List { user: ctx.caller.user.clone(), after, limit: limit + 1 };
    let items = ctx.house.store().scan(operation).await?;
    Ok(Listed::cut(items, limit, |workspace| vec![workspace.id.as_str().to_owned()]))
}

struct List {
    user: UserId,
    after: String,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Workspace>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Workspace>> {
        let own = tx.memberships(&self.user).await?.into_iter().map(|membership| membership.workspace);
        let page = own.filter(|id| id.as_str() > self.after.as_str());
        let (rules, mut views) = (rules::read(tx).await?, Vec::new());
        for id in page.take(usize::try_from(self.limit).unwrap_or(usize::MAX)).collect::<Vec<_>>() {
            if let Some(row) = tx.workspace(&id).await? {
                views.push(view(tx, row, &rules).await?);
            }
        }
        Ok(views)
    }
}

pub async fn get(ctx: &Ctx, name: &str) -> Result<Workspace> {
    ctx.house.store().scan(Get { caller: ctx.caller.clone(), name: name.to_owned() }).await
}

struct Get {
    caller: Arc<Caller>,
    name: String,
}

impl Operation for Get {
    type Output = Workspace;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Workspace> {
        let row = find(tx, &self.caller, &self.name).await?;
        seen(tx, row).await
    }
}

/// Every open workspace that is nobody's own.
pub(crate) struct Open;

impl Operation for Open {
    type Output = Vec<WorkspaceRow>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<WorkspaceRow>> {
        let rows = tx.workspaces_page("", changes::WORKSPACES_MOST as u64).await?;
        Ok(rows.into_iter().filter(WorkspaceRow::is_open).collect())
    }
}

/// Finds a workspace that an admin changes; somebody's own has no members and places to change.
async fn find_common(tx: &mut Tx, id: &WorkspaceId) -> Result<WorkspaceRow> {
    let row = tx.workspace(id).await?.ok_or_else(Refusal::workspace_not_found)?;
    if row.personal_of.is_some() {
        return Err(Refusal::forbidden("this is somebody's own workspace: nobody else belongs to it").into());
    }
    if !row.is_open() {
        let message = "this workspace is closed, because the configuration file does not name it any more";
        return Err(Refusal::new(Code::WorkspaceNotFound, message).into());
    }
    Ok(row)
}
