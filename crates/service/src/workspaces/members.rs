//! Who belongs to a workspace by an admin's word.

use super::{Workspace, find_common, seen};
use crate::{Ctx, Error, Result, users};
use domain::audit::AuditRecord;
use domain::ids::{UserId, WorkspaceId};
use domain::workspaces::{Source, defined_in_file};
use domain::{Code, Refusal};
use store::{Operation, Tx};

/// Makes somebody a member. Saying it twice makes no difference.
pub async fn add_member(ctx: &Ctx, workspace: &str, user: UserId) -> Result<Workspace> {
    change(ctx, workspace, user, true).await
}

/// Takes somebody out, everywhere at once, open streams included.
pub async fn remove_member(ctx: &Ctx, workspace: &str, user: UserId) -> Result<Workspace> {
    change(ctx, workspace, user, false).await
}

async fn change(ctx: &Ctx, workspace: &str, user: UserId, belongs: bool) -> Result<Workspace> {
    ctx.caller.require_admin()?;
    let workspace = super::named(workspace, &ctx.caller.user)?;
    let action = if belongs { "member.add" } else { "member.remove" };
    let record = ctx.audit(action, ctx.now()).with("user", user.as_str());
    ctx.house.store().write(&workspace.clone(), Change { workspace, user, belongs, record }).await
}

struct Change {
    workspace: WorkspaceId,
    user: UserId,
    belongs: bool,
    record: AuditRecord,
}

impl Operation for Change {
    type Output = Workspace;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Workspace> {
        let row = find_common(tx, &self.workspace).await?;
        tx.user(&self.user).await?.ok_or_else(users::not_found)?;
        let grants = tx.grants(&row.id).await?;
        let of_file = grants.iter().any(|grant| grant.user == self.user && grant.source == Source::File);
        if of_file {
            return Err(defined_in_file("members").into());
        }
        let changed = if self.belongs {
            tx.grant_member(&row.id, &self.user, Source::Admin).await?
        } else {
            self.withdraw(tx).await?
        };
        if changed {
            tx.settle_members(Some(&row.id), None).await?;
            tx.rules_changed().await?;
            tx.scope(&row.id).audit().append(self.record.clone());
        }
        seen(tx, row).await
    }
}

impl Change {
    async fn withdraw(&self, tx: &mut Tx) -> Result<bool> {
        if !tx.withdraw_member(&self.workspace, &self.user, Source::Admin).await? {
            return Err(Refusal::new(Code::MemberNotFound, "they are no member of this workspace").into());
        }
        Ok(true)
    }
}
