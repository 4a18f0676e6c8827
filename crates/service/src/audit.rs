//! Reading the audit log and checking its chains.

use crate::paging::{Listed, Page};
use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::audit::{AuditRecord, AuditRow, HOUSE};
use domain::ids::UserId;
use domain::participants::Participant;
use domain::times::Timestamp;
use serde_json::Map;
use store::{ChainFault, ChainPosition, Operation, Tx};

const VERIFIED_AT_ONCE: u64 = 10_000;

/// A record of what the house did by itself, or because its configuration file says so.
pub(crate) fn by_house(action: &'static str, at: Timestamp) -> AuditRecord {
    let user = UserId::from_trusted(HOUSE.to_owned());
    let participant = Participant::from_trusted(HOUSE.to_owned());
    AuditRecord { at, user, participant, action, session: None, detail: Map::new() }
}

/// Audit rows of the whole house, or of one workspace.
pub async fn list(ctx: &Ctx, workspace: Option<String>, page: Page) -> Result<Listed<AuditRow>> {
    ctx.caller.require_admin()?;
    let limit = page.limit()?;
    if workspace.as_ref().is_some_and(|name| name.contains('\0')) {
        return Err(Refusal::invalid_field("workspace", "`workspace` is a name without U+0000").into());
    }
    let mut after = page.after(2)?;
    let (seq, after_workspace) = (after.remove(1), after.remove(0));
    let seq = if seq.is_empty() { Ok(0) } else { seq.parse() };
    let seq = seq.map_err(|_| Refusal::invalid_field("cursor", "`cursor` is not one that this list gave"))?;
    let operation = List { workspace, after: (after_workspace, seq), limit: limit + 1 };
    let items = ctx.house.store().scan(operation).await?;
    Ok(Listed::cut(items, limit, |row| vec![row.workspace.clone(), row.seq.to_string()]))
}

struct List {
    workspace: Option<String>,
    after: (String, u64),
    limit: u64,
}

impl Operation for List {
    type Output = Vec<AuditRow>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<AuditRow>> {
        let after = (self.after.0.as_str(), self.after.1);
        Ok(tx.audit_page(self.workspace.as_deref(), after, self.limit).await?)
    }
}

/// The state of the chains: how many rows hold, and the first place where one does not.
pub struct Verdict {
    pub rows: u64,
    pub fault: Option<ChainFault>,
}

pub async fn verify(ctx: &Ctx) -> Result<Verdict> {
    ctx.caller.require_admin()?;
    ctx.house.store().scan(Verify).await
}

struct Verify;

impl Operation for Verify {
    type Output = Verdict;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Verdict> {
        let mut position = ChainPosition::default();
        loop {
            let (next, fault) = tx.verify_audit(position, VERIFIED_AT_ONCE).await?;
            if fault.is_some() {
                return Ok(Verdict { rows: next.rows, fault });
            }
            if next.done {
                let fault = tx.emptied_chains().await?.into_iter().next();
                return Ok(Verdict { rows: next.rows, fault });
            }
            position = next;
        }
    }
}
