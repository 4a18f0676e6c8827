//! Making what the file declares so: one transaction, which changes only what is different and audits each change.
//! Whatever stands in its way is told together, and then nothing is changed.

use crate::users::house_chain;
use crate::{Error, House, Result, users};
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::{UserId, WorkspaceId};
use domain::rules::{Declaration, DeclaredUser, DeclaredWorkspace};
use domain::times::Timestamp;
use domain::users::User;
use domain::workspaces::{Binding, Identity, Source};
use domain::{Code, Refusal};
use std::collections::BTreeMap;
use store::{BoundPlace, KnownIdentity, Operation, Tx, WorkspaceRow};

/// Puts a declaration in force. What an earlier one said and this one does not is shut.
pub async fn apply(house: &House, declaration: Declaration, origin: &str) -> Result<()> {
    let caller = users::operator_caller()?;
    let apply = Apply { declaration, origin: Some(origin.to_owned()), caller, now: house.now() };
    house.store().write(&house_chain(), apply).await
}

/// There is no file any more: what an earlier one said is shut.
pub async fn forget(house: &House) -> Result<()> {
    let caller = users::operator_caller()?;
    let apply = Apply { declaration: Declaration::default(), origin: None, caller, now: house.now() };
    house.store().write(&house_chain(), apply).await
}

struct Apply {
    declaration: Declaration,
    origin: Option<String>,
    caller: Caller,
    now: Timestamp,
}

/// What was found in the way, and whether anything was changed.
#[derive(Default)]
struct Progress {
    problems: Vec<String>,
    changed: bool,
}

impl Operation for Apply {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let mut progress = Progress::default();
        self.people(tx, &mut progress).await?;
        self.identities(tx, &mut progress).await?;
        self.workspaces(tx, &mut progress).await?;
        self.bindings(tx, &mut progress).await?;
        if !tx.has_other_admin(None).await? {
            progress.problems.push("nobody would be an admin: give one person the role admin".to_owned());
        }
        if !progress.problems.is_empty() {
            let message = progress.problems.join("; ");
            return Err(Refusal::new(Code::RulesConflict, message).with("problems", progress.problems).into());
        }
        let before = tx.accepted_rules().await?;
        if before.rules != self.declaration.house || before.origin != self.origin {
            tx.save_rules(self.origin.as_deref(), &self.declaration.house, self.now).await?;
            progress.changed = true;
        }
        if progress.changed {
            tx.settle_members(None, None).await?;
            tx.rules_changed().await?;
            let record = self.record("rules.apply").with("origin", self.origin.as_deref());
            tx.scope(&house_chain()).audit().append(record);
        }
        Ok(())
    }
}

impl Apply {
    fn record(&self, action: &'static str) -> AuditRecord {
        AuditRecord::new(&self.caller, action, self.now).with("source", Source::File.as_str())
    }

    async fn people(&self, tx: &mut Tx, progress: &mut Progress) -> Result<()> {
        let mut record = Vec::new();
        for (id, declared) in &self.declaration.users {
            let known = tx.known_user(id).await?;
            if known.as_ref().is_some_and(|known| known.removed) {
                let problem = format!("user `{}` was removed, and the name is never given again", id.name());
                progress.problems.push(problem);
                continue;
            }
            if known.as_ref().is_some_and(|known| known.file_role.as_ref() == Some(&declared.role)) {
                continue;
            }
            let action = if known.is_some() { "user.role" } else { "user.add" };
            self.declare(tx, id, declared, known.is_some()).await?;
            record.push(self.record(action).with("user", id.as_str()).with("role", declared.role.as_str()));
        }
        for gone in tx.users_of_file().await? {
            if !self.declaration.users.contains_key(&gone.id) {
                tx.set_file_role(&gone.id, None).await?;
                let stays = gone.by_admin;
                record.push(self.record("user.undeclare").with("user", gone.id.as_str()).with("stays", stays));
            }
        }
        progress.changed |= !record.is_empty();
        record.into_iter().for_each(|record| tx.scope(&house_chain()).audit().append(record));
        Ok(())
    }

    async fn declare(&self, tx: &mut Tx, id: &UserId, declared: &DeclaredUser, known: bool) -> Result<()> {
        if known {
            tx.set_file_role(id, Some(&declared.role)).await?;
        } else {
            let user = User { id: id.clone(), role: declared.role.clone(), created_at: self.now };
            tx.create_user_of_file(&user).await?;
        }
        Ok(())
    }

    async fn identities(&self, tx: &mut Tx, progress: &mut Progress) -> Result<()> {
        let of_user = |(user, declared): (&UserId, &DeclaredUser)| {
            let user = user.clone();
            declared.identities.clone().into_iter().map(move |identity| (identity, user.clone())).collect::<Vec<_>>()
        };
        let wanted: BTreeMap<Identity, UserId> = self.declaration.users.iter().flat_map(of_user).collect();
        let (of_file, of_admins): (Vec<_>, Vec<_>) =
            tx.identities(None).await?.into_iter().partition(|known| known.source == Source::File);
        for known in of_admins {
            if wanted.get(&known.identity).is_some_and(|user| *user != known.user) {
                let Identity { channel, id } = &known.identity;
                let problem = format!("the {channel} identity {id} was given to `{}` by an admin", known.user.name());
                progress.problems.push(problem);
            }
        }
        for known in &of_file {
            if wanted.get(&known.identity) != Some(&known.user) {
                tx.remove_identity(&known.identity, Source::File).await?;
                progress.changed = true;
            }
        }
        for (identity, user) in wanted {
            let new = KnownIdentity { identity, user, source: Source::File };
            let named_before = of_file.contains(&new);
            // Somebody who was removed is told of above; a row for them could not be kept.
            if !named_before && tx.user(&new.user).await?.is_some() {
                tx.add_identity(&new).await?;
                progress.changed = true;
            }
        }
        Ok(())
    }

    async fn workspaces(&self, tx: &mut Tx, progress: &mut Progress) -> Result<()> {
        for (id, declared) in &self.declaration.workspaces {
            let before = tx.workspace(id).await?;
            if before.is_none() {
                tx.create_workspace(id, Source::File, self.now).await?;
            }
            if before.as_ref().and_then(|row| row.file.as_ref()) != Some(&declared.settings) {
                let admin = before.as_ref().and_then(|row| row.admin.as_ref());
                tx.save_workspace_settings(id, Some(&declared.settings), admin).await?;
                let action =
                    if before.is_some_and(|row| row.file.is_some()) { "workspace.update" } else { "workspace.open" };
                tx.scope(id).audit().append(self.record(action));
                progress.changed = true;
            }
            self.members(tx, id, declared, progress).await?;
        }
        let closing: Vec<WorkspaceRow> = tx.workspaces_with_settings().await?;
        for row in closing {
            if row.file.is_some() && !self.declaration.workspaces.contains_key(&row.id) {
                self.close(tx, &row).await?;
                progress.changed = true;
            }
        }
        Ok(())
    }

    /// Nobody belongs there any more by the file's word. What an admin said stays, as far as an admin made it.
    async fn close(&self, tx: &mut Tx, row: &WorkspaceRow) -> Result<()> {
        tx.save_workspace_settings(&row.id, None, row.admin.as_ref()).await?;
        for grant in tx.grants(&row.id).await? {
            if grant.source == Source::File {
                tx.withdraw_member(&row.id, &grant.user, Source::File).await?;
            }
        }
        tx.scope(&row.id).audit().append(self.record("workspace.undeclare").with("stays", row.by_admin));
        Ok(())
    }

    async fn members(
        &self,
        tx: &mut Tx,
        id: &WorkspaceId,
        declared: &DeclaredWorkspace,
        progress: &mut Progress,
    ) -> Result<()> {
        let before = tx.grants(id).await?;
        let before: Vec<UserId> =
            before.into_iter().filter(|grant| grant.source == Source::File).map(|grant| grant.user).collect();
        for user in before.iter().filter(|user| !declared.members.contains(user)) {
            tx.withdraw_member(id, user, Source::File).await?;
            tx.scope(id).audit().append(self.record("member.remove").with("user", user.as_str()));
            progress.changed = true;
        }
        for user in declared.members.iter().filter(|user| !before.contains(user)) {
            if tx.user(user).await?.is_none() {
                progress.problems.push(format!("workspace `{id}`: there is no user `{}`", user.name()));
                continue;
            }
            tx.grant_member(id, user, Source::File).await?;
            tx.scope(id).audit().append(self.record("member.add").with("user", user.as_str()));
            progress.changed = true;
        }
        Ok(())
    }

    async fn bindings(&self, tx: &mut Tx, progress: &mut Progress) -> Result<()> {
        let in_workspace = |(id, declared): (&WorkspaceId, &DeclaredWorkspace)| {
            let bound = |binding: Binding| BoundPlace { workspace: id.clone(), binding, source: Source::File };
            declared.bindings.clone().into_iter().map(bound).collect::<Vec<_>>()
        };
        let wanted: Vec<BoundPlace> = self.declaration.workspaces.iter().flat_map(in_workspace).collect();
        let before = tx.bindings(None).await?;
        for bound in before.iter().filter(|bound| bound.source == Source::File && !wanted.contains(bound)) {
            tx.unbind(&bound.binding.place).await?;
            let record = self.record("binding.remove").with("place", bound.binding.place.as_key());
            tx.scope(&bound.workspace).audit().append(record);
            progress.changed = true;
        }
        for new in wanted.iter().filter(|new| !before.contains(new)) {
            let place = new.binding.place.as_key();
            let taken =
                before.iter().find(|bound| bound.source == Source::Admin && bound.binding.place.as_key() == place);
            if let Some(taken) = taken.filter(|taken| taken.workspace != new.workspace) {
                let problem = format!("an admin has bound {place} to workspace `{}`: unbind it first", taken.workspace);
                progress.problems.push(problem);
                continue;
            }
            tx.bind(new).await?;
            tx.scope(&new.workspace).audit().append(self.record("binding.add").with("place", place));
            progress.changed = true;
        }
        Ok(())
    }
}
