//! What a workspace has spent, for its members and for admins.

use super::budget_of;
use crate::workspaces::{self, named};
use crate::{Ctx, Error, Result};
use domain::budgets::{Day, LocalDay, member_limit};
use domain::callers::Caller;
use domain::ids::{AgentId, UserId, WorkspaceId};
use domain::ledger::DayCounters;
use domain::money::Micros;
use domain::times::Timestamp;
use domain::workspaces::Budget;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Operation, Spending, Tx};

/// How many days are shown, today among them.
const DAYS: u16 = 30;

#[derive(Debug, Clone, PartialEq)]
pub struct BudgetView {
    pub workspace: WorkspaceId,
    pub limit: Option<Micros>,
    pub today: DayCounters,
    pub day: Day,
    pub resets_at: Timestamp,
    pub timezone: String,
    pub by_agent: Vec<AgentSpending>,
    pub by_member: Vec<MemberSpending>,
    /// Every day, the oldest first.
    pub by_day: Vec<DaySpending>,
}

impl BudgetView {
    pub fn remaining(&self) -> Option<Micros> {
        self.limit.map(|limit| self.today.tally.left(limit))
    }
}

/// Today's, on behalf of one agent, or of none.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpending {
    pub agent: Option<AgentId>,
    pub counters: DayCounters,
}

/// Today's, by one member.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberSpending {
    pub user: UserId,
    pub limit: Option<Micros>,
    pub counters: DayCounters,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DaySpending {
    pub day: Day,
    pub counters: DayCounters,
}

pub async fn look(ctx: &Ctx, workspace: &str) -> Result<BudgetView> {
    ctx.caller.require_person()?;
    let workspace = named(workspace, &ctx.caller.user)?;
    let budget = budget_of(&ctx.house, &workspace).await?.unwrap_or_default();
    let today = LocalDay::of(ctx.now(), budget.timezone.as_deref());
    let look = Look { caller: ctx.caller.clone(), workspace, budget, today };
    ctx.house.store().scan(look).await
}

struct Look {
    caller: Arc<Caller>,
    workspace: WorkspaceId,
    budget: Budget,
    today: LocalDay,
}

impl Operation for Look {
    type Output = BudgetView;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<BudgetView> {
        let Self { workspace, budget, today: LocalDay { day, ends_at }, .. } = self;
        workspaces::find(tx, &self.caller, workspace.as_str()).await?;
        let mut ledger = tx.scope(workspace).ledger();
        let today = ledger.counters(*day, None).await?;
        let (agents, members) = (ledger.by_agent(*day).await?, ledger.by_member(*day).await?);
        let days = ledger.by_day(day.minus(DAYS - 1), *day).await?;
        let by_member =
            |Spending { by: user, counters }| MemberSpending { limit: member_limit(budget, &user), user, counters };
        Ok(BudgetView {
            workspace: workspace.clone(),
            limit: budget.daily,
            today,
            day: *day,
            resets_at: *ends_at,
            timezone: budget.timezone.clone().unwrap_or_else(|| "UTC".to_owned()),
            by_agent: agents
                .into_iter()
                .map(|spent| AgentSpending { agent: spent.by, counters: spent.counters })
                .collect(),
            by_member: members.into_iter().map(by_member).collect(),
            by_day: every_day(*day, days),
        })
    }
}

/// Days whose sums are not those of their calls.
pub(crate) struct Miscounted;

impl Operation for Miscounted {
    type Output = Vec<(WorkspaceId, String)>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        Ok(tx.miscounted_days().await?)
    }
}

/// Days without calls are days too.
fn every_day(last: Day, spent: Vec<Spending<Day>>) -> Vec<DaySpending> {
    let mut counters: BTreeMap<Day, DayCounters> = spent.into_iter().map(|spent| (spent.by, spent.counters)).collect();
    let day = |back| {
        let day = last.minus(back);
        DaySpending { day, counters: counters.remove(&day).unwrap_or_default() }
    };
    (0..DAYS).rev().map(day).collect()
}
