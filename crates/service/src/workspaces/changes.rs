//! Workspaces made, changed and deleted by admins while the house runs.

use super::{Workspace, view};
use crate::paging::{Listed, Page};
use crate::{Ctx, Error, Result, idempotency, nodes, projects, rules, sessions, users};
use domain::audit::AuditRecord;
use domain::events::StreamId;
use domain::ids::{UserId, WorkspaceId};
use domain::times::Timestamp;
use domain::workspaces::{Said, SettingsChange, Source, WorkspaceSettings, defined_in_file, is_reserved};
use domain::{Code, Refusal};
use std::collections::BTreeSet;
use store::{Operation, Tx, WorkspaceRow};

/// Most workspaces that are nobody's own.
pub(super) const WORKSPACES_MOST: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub struct CreateWorkspace {
    pub name: String,
    pub members: Vec<UserId>,
    pub settings: SettingsChange,
}

pub async fn create(ctx: &Ctx, input: CreateWorkspace) -> Result<Workspace> {
    ctx.caller.require_admin()?;
    let id = new_id(&input.name)?;
    let nothing = WorkspaceSettings::default();
    let settings = input.settings.apply(Said { admin: &nothing, file: None, in_force: &nothing })?;
    settings.check()?;
    let record = ctx.audit("workspace.create", ctx.now());
    let operation = Create { id: id.clone(), members: input.members, settings, now: ctx.now(), record };
    idempotency::write(ctx, &id, operation).await
}

fn new_id(name: &str) -> Result<WorkspaceId> {
    let refusal = |message: &str| Refusal::invalid_field("name", message);
    let id =
        WorkspaceId::parse(name).map_err(|_| refusal("a workspace's name has 1 to 64 of a-z, 0-9, `_` and `-`"))?;
    if is_reserved(name) {
        return Err(refusal("names that begin with `personal` are people's own workspaces").into());
    }
    Ok(id)
}

struct Create {
    id: WorkspaceId,
    members: Vec<UserId>,
    settings: WorkspaceSettings,
    now: Timestamp,
    record: AuditRecord,
}

impl Operation for Create {
    type Output = Workspace;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Workspace> {
        if let Some(found) = tx.workspace(&self.id).await? {
            let message = if found.is_open() {
                "there is a workspace of that name"
            } else {
                "a workspace of that name was closed when the configuration file stopped naming it, and keeps what is \
                 in it: name it in the file again, or delete it first"
            };
            return Err(Refusal::new(Code::WorkspaceExists, message).into());
        }
        if tx.workspaces_page("", WORKSPACES_MOST as u64).await?.len() >= WORKSPACES_MOST {
            let message = format!("a house has at most {WORKSPACES_MOST} workspaces: delete one first");
            return Err(Refusal::new(Code::StoreFull, message).into());
        }
        let house = tx.accepted_rules().await?.rules;
        rules::check_names(tx, &house, &self.settings, &self.settings).await?;
        tx.create_workspace(&self.id, Source::Admin, self.now).await?;
        tx.save_workspace_settings(&self.id, None, Some(&self.settings)).await?;
        let settings = WorkspaceSettings::default().differences(&self.settings);
        tx.scope(&self.id).audit().append(self.record.clone().with("changed", settings));
        for user in self.members.iter().collect::<BTreeSet<_>>() {
            tx.user(user).await?.ok_or_else(users::not_found)?;
            tx.grant_member(&self.id, user, Source::Admin).await?;
            let record = AuditRecord { action: "member.add", ..self.record.clone() };
            tx.scope(&self.id).audit().append(record.with("user", user.as_str()));
        }
        tx.settle_members(Some(&self.id), None).await?;
        tx.rules_changed().await?;
        seen(tx, &self.id).await
    }
}

/// What is there after a change.
async fn seen(tx: &mut Tx, id: &WorkspaceId) -> Result<Workspace> {
    let row = tx.workspace(id).await?.ok_or_else(Refusal::workspace_not_found)?;
    super::seen(tx, row).await
}

/// Changes what admins say of a workspace; somebody's own too.
pub async fn update(ctx: &Ctx, workspace: &str, change: SettingsChange) -> Result<Workspace> {
    ctx.caller.require_admin()?;
    let id = super::named(workspace, &ctx.caller.user)?;
    let record = ctx.audit("workspace.update", ctx.now());
    ctx.house.store().write(&id.clone(), Update { id, change, record }).await
}

struct Update {
    id: WorkspaceId,
    change: SettingsChange,
    record: AuditRecord,
}

impl Operation for Update {
    type Output = Workspace;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Workspace> {
        let row = tx.workspace(&self.id).await?.filter(WorkspaceRow::is_open);
        let row = row.ok_or_else(Refusal::workspace_not_found)?;
        let mut rules = rules::read(tx).await?;
        let (admin, in_force) = (row.admin.clone().unwrap_or_default(), rules.workspace(&self.id));
        let said = Said { admin: &admin, file: row.file.as_ref(), in_force: &in_force };
        let settings = self.change.clone().apply(said)?;
        settings.check()?;
        rules.workspaces.insert(self.id.clone(), row.file.clone().unwrap_or_default().or(settings.clone()));
        rules::check_names(tx, &rules.house, &settings, &rules.workspace(&self.id)).await?;
        if settings != admin {
            tx.save_workspace_settings(&self.id, row.file.as_ref(), Some(&settings)).await?;
            tx.rules_changed().await?;
            let changed = admin.differences(&settings);
            tx.scope(&self.id).audit().append(self.record.clone().with("changed", changed));
        }
        seen(tx, &self.id).await
    }
}

/// Removes a workspace that the file does not name. One that has projects or sessions goes only with them.
pub async fn delete(ctx: &Ctx, workspace: &str, with_data: bool) -> Result<()> {
    ctx.caller.require_admin()?;
    let id = super::named(workspace, &ctx.caller.user)?;
    let now = ctx.now();
    let record = ctx.audit("workspace.delete", now).with("with_data", with_data);
    ctx.house.store().write(&id.clone(), Delete { id, with_data, now, record }).await
}

struct Delete {
    id: WorkspaceId,
    with_data: bool,
    now: Timestamp,
    record: AuditRecord,
}

impl Operation for Delete {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let row = tx.workspace(&self.id).await?.ok_or_else(Refusal::workspace_not_found)?;
        if row.personal_of.is_some() {
            return Err(Refusal::forbidden("somebody's own workspace goes when they go").into());
        }
        if row.file.is_some() {
            return Err(defined_in_file("workspaces").into());
        }
        let projects = tx.scope(&self.id).projects().ids().await?;
        let sessions = tx.sessions_of(&self.id).await?;
        let is_empty = projects.is_empty() && sessions.is_empty();
        if !(self.with_data || is_empty) {
            let message = "this workspace has projects or sessions: to delete them too, say so with `with_data`";
            let refusal = Refusal::new(Code::WorkspaceHasData, message);
            return Err(refusal.with("projects", projects.len()).with("sessions", sessions.len()).into());
        }
        for project in projects {
            projects::remove(tx, &self.id, &project, self.now).await?;
        }
        for (session, uid) in tx.sessions_of(&self.id).await? {
            sessions::remove(tx, &self.id, (&session, &uid), self.now).await?;
        }
        // Whoever is given the name next has no business with what this one was told.
        for node in tx.scope(&self.id).nodes().all().await? {
            nodes::take_away(tx, &node, self.now).await?;
        }
        tx.scope(&self.id).events().remove(&StreamId::of_workspace()).await?;
        tx.retire_ledger(&self.id, self.now).await?;
        tx.remove_workspace(&self.id).await?;
        tx.rules_changed().await?;
        tx.scope(&self.id).audit().append(self.record.clone());
        Ok(())
    }
}

/// Every workspace that is nobody's own, closed ones too, for those who run the house.
pub async fn list_all(ctx: &Ctx, page: Page) -> Result<Listed<Workspace>> {
    ctx.caller.require_admin()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let items = ctx.house.store().scan(ListAll { after, limit: limit + 1 }).await?;
    Ok(Listed::cut(items, limit, |workspace| vec![workspace.id.as_str().to_owned()]))
}

struct ListAll {
    after: String,
    limit: u64,
}

impl Operation for ListAll {
    type Output = Vec<Workspace>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Workspace>> {
        let (rules, mut views) = (rules::read(tx).await?, Vec::new());
        for row in tx.workspaces_page(&self.after, self.limit).await? {
            views.push(view(tx, row, &rules).await?);
        }
        Ok(views)
    }
}
