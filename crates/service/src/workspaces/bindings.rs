//! Which places of channels belong to a workspace by an admin's word.

use super::{Workspace, find_common, seen};
use crate::{Ctx, Error, Result, idempotency};
use domain::audit::AuditRecord;
use domain::ids::WorkspaceId;
use domain::workspaces::{BINDINGS_MOST, Binding, Source, defined_in_file};
use domain::{Code, Refusal};
use store::{BoundPlace, Operation, Tx};

/// Binds a place, or changes how it is bound.
pub async fn bind(ctx: &Ctx, workspace: &str, binding: Binding) -> Result<Workspace> {
    ctx.caller.require_admin()?;
    binding.place.check()?;
    let workspace = super::named(workspace, &ctx.caller.user)?;
    let record = ctx.audit("binding.add", ctx.now()).with("place", binding.place.as_key());
    idempotency::write(ctx, &workspace.clone(), Bind { workspace, binding, record }).await
}

struct Bind {
    workspace: WorkspaceId,
    binding: Binding,
    record: AuditRecord,
}

impl Operation for Bind {
    type Output = Workspace;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Workspace> {
        let row = find_common(tx, &self.workspace).await?;
        let new = BoundPlace { workspace: row.id.clone(), binding: self.binding.clone(), source: Source::Admin };
        let bound = tx.bound_place(&self.binding.place).await?;
        let is_new = bound.is_none();
        match bound {
            Some(bound) if bound.workspace != row.id => {
                let message = "that place belongs to another workspace already: a place belongs to one";
                return Err(Refusal::new(Code::BindingExists, message).into());
            }
            Some(bound) if bound.source == Source::File => return Err(defined_in_file("bindings").into()),
            Some(bound) if bound == new => return seen(tx, row).await,
            _ => {}
        }
        if is_new && tx.bindings(Some(&row.id)).await?.len() >= BINDINGS_MOST {
            let message = format!("a workspace has at most {BINDINGS_MOST} places: unbind one first");
            return Err(Refusal::new(Code::StoreFull, message).into());
        }
        tx.bind(&new).await?;
        tx.rules_changed().await?;
        tx.scope(&row.id).audit().append(self.record.clone());
        seen(tx, row).await
    }
}

/// Gives a place back; `place` is its key, as `GET /workspaces/{w}` shows it.
pub async fn unbind(ctx: &Ctx, workspace: &str, place: &str) -> Result<Workspace> {
    ctx.caller.require_admin()?;
    let workspace = super::named(workspace, &ctx.caller.user)?;
    let record = ctx.audit("binding.remove", ctx.now()).with("place", place);
    ctx.house.store().write(&workspace.clone(), Unbind { workspace, place: place.to_owned(), record }).await
}

struct Unbind {
    workspace: WorkspaceId,
    place: String,
    record: AuditRecord,
}

impl Operation for Unbind {
    type Output = Workspace;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Workspace> {
        let row = find_common(tx, &self.workspace).await?;
        let bound = tx.bindings(Some(&row.id)).await?;
        let bound = bound.into_iter().find(|bound| bound.binding.place.as_key() == self.place);
        let missing = || Refusal::new(Code::BindingNotFound, "this workspace is not bound to that place");
        let bound = bound.ok_or_else(missing)?;
        if bound.source == Source::File {
            return Err(defined_in_file("bindings").into());
        }
        tx.unbind(&bound.binding.place).await?;
        tx.rules_changed().await?;
        tx.scope(&row.id).audit().append(self.record.clone());
        seen(tx, row).await
    }
}
