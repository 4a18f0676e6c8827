//! A model call's way through the ledger. Row, sums and alerts are one transaction.

use super::alerts::{Scene, tell};
use super::refusals;
use crate::workspaces::require_member;
use crate::{Error, Result};
use domain::budgets::{Limits, LocalDay, decide};
use domain::ids::{ModelCallId, WorkspaceId};
use domain::ledger::{CallEnd, ModelCall};
use domain::money::Micros;
use domain::times::Timestamp;
use domain::workspaces::Budget;
use store::{Operation, Tx};

pub(crate) struct Reserve {
    pub(super) workspace: WorkspaceId,
    pub(super) call: ModelCall,
    /// Those that this call has to respect.
    pub(super) limits: Limits,
    /// Whether a call must have a price here.
    pub(super) needs_price: bool,
    pub(super) today: LocalDay,
}

impl Operation for Reserve {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let Self { workspace, call, today, .. } = self;
        let user = &call.origin.user;
        require_member(tx, user, workspace).await?;
        if call.reserved.is_none() && self.needs_price {
            return Err(refusals::price_unknown().into());
        }
        let mut whole = tx.scope(workspace).ledger().counters(call.day, None).await?;
        let mut own = tx.scope(workspace).ledger().counters(call.day, Some(user)).await?;
        let estimate = call.reserved.unwrap_or_default();
        decide(self.limits, whole.tally, own.tally, estimate)
            .map_err(|exceeded| refusals::exceeded(exceeded, estimate, today.ends_at))?;
        tx.scope(workspace).ledger().open(call).await?;
        whole.count(None, call);
        own.count(None, call);
        tx.scope(workspace).ledger().save_counters(call.day, None, &whole).await?;
        tx.scope(workspace).ledger().save_counters(call.day, Some(user), &own).await?;
        Ok(())
    }
}

/// Ends one call, unless it has ended already; answers how it stands.
pub(super) struct End {
    pub(super) workspace: WorkspaceId,
    pub(super) id: ModelCallId,
    pub(super) end: CallEnd,
    pub(super) budget: Option<Budget>,
    pub(super) now: Timestamp,
}

impl Operation for End {
    type Output = Option<ModelCall>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<ModelCall>> {
        let Some(before) = tx.scope(&self.workspace).ledger().get(&self.id).await? else { return Ok(None) };
        let ended = end_call(tx, &self.workspace, &before, self.end, self.budget.as_ref(), self.now).await?;
        Ok(Some(ended.unwrap_or(before)))
    }
}

/// Puts the end of a call on record; answers nothing if it has ended already.
pub(super) async fn end_call(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    before: &ModelCall,
    end: CallEnd,
    budget: Option<&Budget>,
    now: Timestamp,
) -> Result<Option<ModelCall>> {
    let Some(after) = before.ended(end, now) else { return Ok(None) };
    if !tx.scope(workspace).ledger().close(&after, before.state).await? {
        return Ok(None);
    }
    let (day, user) = (after.day, &after.origin.user);
    let mut whole = tx.scope(workspace).ledger().counters(day, None).await?;
    let mut own = tx.scope(workspace).ledger().counters(day, Some(user)).await?;
    whole.count(Some(before), &after);
    own.count(Some(before), &after);
    let zone = budget.and_then(|budget| budget.timezone.as_deref());
    let today = LocalDay::of(now, zone);
    // Of a day that is over nobody has to be warned.
    if today.day == day {
        let limit: Option<Micros> = budget.and_then(|budget| budget.daily);
        tell(tx, &Scene { workspace, limit, today, now }, &mut whole).await?;
    }
    tx.scope(workspace).ledger().save_counters(day, None, &whole).await?;
    tx.scope(workspace).ledger().save_counters(day, Some(user), &own).await?;
    Ok(Some(after))
}
