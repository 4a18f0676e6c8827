//! A person's standing rules: looked at, and taken back.

use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::{StandingRuleId, UserId, WorkspaceId};
use domain::standing_rules::{Lasts, StandingRule};
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, Tx};

/// The caller's own rules that still stand.
pub async fn list_rules(ctx: &Ctx) -> Result<Vec<(WorkspaceId, StandingRule)>> {
    ctx.caller.require_person()?;
    let rules = ctx.house.store().read(List { user: ctx.caller.user.clone() }).await?;
    let now = ctx.now();
    let stands = |rule: &StandingRule| !matches!(rule.lasts, Lasts::Until(until) if until <= now);
    Ok(rules.into_iter().filter(|(_, rule)| stands(rule)).collect())
}

struct List {
    user: UserId,
}

impl Operation for List {
    type Output = Vec<(WorkspaceId, StandingRule)>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        Ok(tx.standing_rules_of(&self.user).await?)
    }
}

/// Takes a rule back: from now on a person is asked again.
pub async fn remove_rule(ctx: &Ctx, id: &str) -> Result<()> {
    ctx.caller.require_person()?;
    let id = StandingRuleId::parse(id)?;
    let operation = Remove { caller: ctx.caller.clone(), id, now: ctx.now() };
    ctx.house.store().write(&WorkspaceId::personal(&ctx.caller.user), operation).await
}

struct Remove {
    caller: Arc<Caller>,
    id: StandingRuleId,
    now: Timestamp,
}

impl Operation for Remove {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let own = tx.standing_rules_of(&self.caller.user).await?;
        let found = own.into_iter().find(|(_, rule)| rule.id == self.id);
        let (workspace, rule) = found.ok_or_else(Refusal::standing_rule_not_found)?;
        tx.scope(&workspace).standing_rules().delete(&rule.id).await?;
        let record = AuditRecord::new(&self.caller, "standing_rule.remove", self.now).with("rule", rule.id.as_str());
        tx.scope(&workspace).audit().append(record);
        Ok(())
    }
}
