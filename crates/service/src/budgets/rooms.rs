//! Whether a first call could be paid for, asked before anything is taken in. Nothing is set aside here.

use super::refusals;
use crate::Result;
use domain::budgets::{Limits, LocalDay, decide, has_limits};
use domain::ids::{UserId, WorkspaceId};
use domain::money::Micros;
use domain::prices::{estimate, price_of};
use domain::rules::{Price, Rules};
use domain::times::Timestamp;
use store::Tx;

pub(crate) struct Room {
    workspace: WorkspaceId,
    user: UserId,
    limits: Limits,
    needs_price: bool,
    zone: Option<String>,
    /// None if the model has no known price.
    estimate: Option<Micros>,
}

impl Room {
    /// What a call with so many tokens of prompt and of answer needs.
    pub(crate) fn needed(
        rules: &Rules,
        workspace: &WorkspaceId,
        user: &UserId,
        model: &str,
        (prompt_tokens, max_tokens): (u64, u64),
    ) -> Self {
        let budget = rules.workspace(workspace).budget;
        let price = price_of(&rules.house.models, model);
        let is_free = price.is_some_and(Price::is_free);
        Self {
            workspace: workspace.clone(),
            user: user.clone(),
            limits: if is_free { Limits::default() } else { Limits::of(budget.as_ref(), user) },
            needs_price: has_limits(budget.as_ref()),
            zone: budget.and_then(|budget| budget.timezone),
            estimate: price.map(|price| estimate(price, prompt_tokens, max_tokens)),
        }
    }

    pub(crate) async fn check(&self, tx: &mut Tx, now: Timestamp) -> Result<()> {
        let Some(estimate) = self.estimate else {
            return if self.needs_price { Err(refusals::price_unknown().into()) } else { Ok(()) };
        };
        if self.limits == Limits::default() {
            return Ok(());
        }
        let today = LocalDay::of(now, self.zone.as_deref());
        let whole = tx.scope(&self.workspace).ledger().counters(today.day, None).await?;
        let own = tx.scope(&self.workspace).ledger().counters(today.day, Some(&self.user)).await?;
        decide(self.limits, whole.tally, own.tally, estimate)
            .map_err(|exceeded| refusals::exceeded(exceeded, estimate, today.ends_at).into())
    }
}
