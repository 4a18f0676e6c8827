//! Making what the file declares so: one transaction, which changes only what is different and audits each change.
//! Whatever stands in its way is told together, and then nothing is changed.

use crate::users::house_chain;
use crate::{Error, House, Result, audit};
use domain::audit::AuditRecord;
use domain::ids::{UserId, WorkspaceId};
use domain::rules::{Declaration, DeclaredUser, DeclaredWorkspace};
use domain::times::Timestamp;
use domain::users::User;
use domain::workspaces::{Binding, Identity, Source, WorkspaceSettings};
use domain::{Code, Refusal};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use store::{BoundPlace, KnownIdentity, Operation, Tx, WorkspaceRow};

/// Puts a declaration in force. What an earlier one said and this one does not is shut; answers how much that is.
pub async fn apply(house: &House, declaration: Declaration, origin: &str) -> Result<Taken> {
    let apply = Apply { declaration, origin: Some(origin.to_owned()), now: house.now() };
    house.store().write(&house_chain(), apply).await
}

/// There is no file any more: what an earlier one said is shut.
pub async fn forget(house: &House) -> Result<Taken> {
    let apply = Apply { declaration: Declaration::default(), origin: None, now: house.now() };
    house.store().write(&house_chain(), apply).await
}

struct Apply {
    declaration: Declaration,
    origin: Option<String>,
    now: Timestamp,
}

/// What was found in the way, and whether anything was changed.
#[derive(Default)]
struct Progress {
    problems: Vec<Problem>,
    changed: bool,
    taken: Taken,
}

/// What stands in the way, and about which part of the file, as a dotted path.
#[derive(Serialize)]
struct Problem {
    text: String,
    about: String,
}

/// What a file takes away from what was there: worth a word to whoever saved it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Taken {
    pub people: usize,
    pub workspaces: usize,
    pub members: usize,
}

impl Progress {
    fn problem(&mut self, about: String, text: String) {
        self.problems.push(Problem { text, about });
    }
}

impl Operation for Apply {
    type Output = Taken;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Taken> {
        let mut progress = Progress::default();
        self.people(tx, &mut progress).await?;
        self.identities(tx, &mut progress).await?;
        self.workspaces(tx, &mut progress).await?;
        self.bindings(tx, &mut progress).await?;
        if !tx.has_other_admin(None).await? {
            let text = "nobody would be an admin: give one person the role admin";
            progress.problem("users".to_owned(), text.to_owned());
        }
        if !progress.problems.is_empty() {
            let texts: Vec<&str> = progress.problems.iter().map(|problem| &*problem.text).collect();
            let refusal = Refusal::new(Code::RulesConflict, texts.join("; "));
            return Err(refusal.with("problems", json!(progress.problems)).into());
        }
        let changed = self.house(tx, &mut progress).await?;
        if progress.changed {
            tx.settle_members(None, None).await?;
            tx.rules_changed().await?;
            let record = self.record("rules.apply").with("origin", self.origin.as_deref()).with("changed", changed);
            tx.scope(&house_chain()).audit().append(record);
        }
        Ok(progress.taken)
    }
}

impl Apply {
    fn record(&self, action: &'static str) -> AuditRecord {
        audit::by_house(action, self.now).with("source", Source::File.as_str())
    }

    /// Keeps what holds for the whole house; answers which parts of it are new.
    async fn house(&self, tx: &mut Tx, progress: &mut Progress) -> Result<Vec<&'static str>> {
        let (house, before) = (&self.declaration.house, tx.accepted_rules().await?);
        let skills = tx.skills().await? != house.skills;
        let parts = [
            ("roles", before.rules.roles != house.roles),
            ("plugins", before.rules.plugins != house.plugins),
            ("models", before.rules.models != house.models),
            ("personal", before.rules.personal != house.personal),
            ("worker_space", before.rules.worker_space != house.worker_space),
            ("alerts", before.rules.alerts != house.alerts),
            ("approvals", before.rules.approvals != house.approvals),
            ("channels", before.rules.channels != house.channels),
            ("skills", skills),
        ];
        let changed: Vec<&str> = parts.into_iter().filter_map(|(part, is_new)| is_new.then_some(part)).collect();
        progress.changed |= !changed.is_empty() || before.origin != self.origin;
        if skills {
            tx.save_skills(&house.skills).await?;
        }
        // Declared again, it is a new one: what was accepted of the old one does not count.
        for gone in before.rules.plugins.keys().filter(|name| !house.plugins.contains_key(*name)) {
            if tx.forget_plugin(gone).await? {
                let record = self.record("plugin.undeclare").with("plugin", gone.as_str());
                tx.scope(&house_chain()).audit().append(record);
            }
        }
        if progress.changed {
            tx.save_rules(self.origin.as_deref(), house, self.now).await?;
        }
        Ok(changed)
    }

    async fn people(&self, tx: &mut Tx, progress: &mut Progress) -> Result<()> {
        let mut record = Vec::new();
        for (id, declared) in &self.declaration.users {
            let known = tx.known_user(id).await?;
            if known.as_ref().is_some_and(|known| known.removed) {
                let problem = format!("user `{}` was removed, and the name is never given again", id.name());
                progress.problem(format!("users.{}", id.name()), problem);
                continue;
            }
            if known.as_ref().is_some_and(|known| known.file_role.as_ref() == Some(&declared.role)) {
                continue;
            }
            let action = if known.is_some() { "user.role" } else { "user.add" };
            let user = User { id: id.clone(), role: declared.role.clone(), created_at: self.now };
            tx.declare_user(&user).await?;
            record.push(self.record(action).with("user", id.as_str()).with("role", declared.role.as_str()));
        }
        for gone in tx.users_of_file().await? {
            if !self.declaration.users.contains_key(&gone.id) {
                tx.set_file_role(&gone.id, None).await?;
                let stays = gone.by_admin;
                progress.taken.people += usize::from(!stays);
                record.push(self.record("user.undeclare").with("user", gone.id.as_str()).with("stays", stays));
            }
        }
        progress.changed |= !record.is_empty();
        record.into_iter().for_each(|record| tx.scope(&house_chain()).audit().append(record));
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
            if let Some(user) = wanted.get(&known.identity).filter(|user| **user != known.user) {
                let Identity { channel, id } = &known.identity;
                let problem = format!("the {channel} identity {id} was given to `{}` by an admin", known.user.name());
                progress.problem(format!("users.{}.identities.{channel}", user.name()), problem);
            }
        }
        for known in &of_file {
            if wanted.get(&known.identity) != Some(&known.user) {
                tx.remove_identity(&known.identity, Source::File).await?;
                progress.changed = true;
            }
        }
        let named: BTreeMap<&Identity, &UserId> = of_file.iter().map(|known| (&known.identity, &known.user)).collect();
        for (identity, user) in wanted {
            // Somebody who was removed is told of above; a row for them could not be kept.
            if named.get(&identity) != Some(&&user) && tx.user(&user).await?.is_some() {
                tx.add_identity(&KnownIdentity { identity, user, source: Source::File }).await?;
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
                let nothing = WorkspaceSettings::default();
                let old = before.as_ref().and_then(|row| row.file.as_ref()).unwrap_or(&nothing);
                let changed = old.differences(&declared.settings);
                let action =
                    if before.is_some_and(|row| row.file.is_some()) { "workspace.update" } else { "workspace.open" };
                tx.scope(id).audit().append(self.record(action).with("changed", changed));
                progress.changed = true;
            }
            self.members(tx, id, declared, progress).await?;
        }
        let closing: Vec<WorkspaceRow> = tx.workspaces_with_settings().await?;
        for row in closing {
            if row.file.is_some() && !self.declaration.workspaces.contains_key(&row.id) {
                self.close(tx, &row).await?;
                progress.taken.workspaces += usize::from(!row.by_admin);
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
        // One that nobody says is there holds no place that others might want.
        let held = if row.by_admin { Vec::new() } else { tx.bindings(Some(&row.id)).await? };
        for bound in held.into_iter().filter(|bound| bound.source == Source::Admin) {
            self.unbind(tx, &bound).await?;
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
            progress.taken.members += 1;
            tx.scope(id).audit().append(self.record("member.remove").with("user", user.as_str()));
            progress.changed = true;
        }
        for user in declared.members.iter().filter(|user| !before.contains(user)) {
            if tx.user(user).await?.is_none() {
                let problem = format!("workspace `{id}`: there is no user `{}`", user.name());
                progress.problem(format!("workspaces.{id}.members"), problem);
                continue;
            }
            tx.grant_member(id, user, Source::File).await?;
            // The file takes them over: whoever it lets go is then out.
            tx.withdraw_member(id, user, Source::Admin).await?;
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
        let by_place = |bound: BoundPlace| (bound.binding.place.as_key(), bound);
        let wanted = self.declaration.workspaces.iter().flat_map(in_workspace);
        let wanted: BTreeMap<String, BoundPlace> = wanted.map(by_place).collect();
        let before: BTreeMap<String, BoundPlace> = tx.bindings(None).await?.into_iter().map(by_place).collect();
        for (place, bound) in before.iter().filter(|(_, bound)| bound.source == Source::File) {
            if wanted.get(place) != Some(bound) {
                self.unbind(tx, bound).await?;
                progress.changed = true;
            }
        }
        for (place, new) in wanted.iter().filter(|(place, new)| before.get(*place) != Some(new)) {
            let taken = before.get(place).filter(|taken| taken.source == Source::Admin);
            if let Some(taken) = taken.filter(|taken| taken.workspace != new.workspace) {
                let problem = format!("an admin has bound {place} to workspace `{}`: unbind it first", taken.workspace);
                progress.problem(format!("workspaces.{}.bindings", new.workspace), problem);
                continue;
            }
            tx.bind(new).await?;
            tx.scope(&new.workspace).audit().append(self.record("binding.add").with("place", &**place));
            progress.changed = true;
        }
        Ok(())
    }

    async fn unbind(&self, tx: &mut Tx, bound: &BoundPlace) -> Result<()> {
        tx.unbind(&bound.binding.place).await?;
        let record = self.record("binding.remove").with("place", bound.binding.place.as_key());
        tx.scope(&bound.workspace).audit().append(record);
        Ok(())
    }
}
