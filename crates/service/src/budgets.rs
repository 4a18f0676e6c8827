//! Budgets: money is set aside before a model is asked, and settled with what it cost. What is spent and set aside
//! stays within the limits of the day, whoever asks at once and whenever the process dies.

mod alerts;
mod looks;
mod overdue;
mod refusals;
mod reservations;
mod rooms;

pub(crate) use looks::Miscounted;
pub use looks::{AgentSpending, BudgetView, DaySpending, MemberSpending, look};
pub(crate) use overdue::recover;
pub use overdue::{end_overdue_calls, end_overdue_calls_once};
pub(crate) use refusals::price_unknown;

use crate::{Ctx, Error, House, Result, rules};
use domain::Code;
use domain::budgets::{Limits, LocalDay, has_limits};
use domain::ids::{AgentId, ModelCallId, ProjectId, SessionId, WorkspaceId};
use domain::ledger::{CallEnd, CallOrigin, CallState, ModelCall};
use domain::money::Micros;
use domain::prices::{Usage, cost, estimate, price_of};
use domain::rules::Price;
use domain::times::Timestamp;
use domain::workspaces::Budget;
pub(crate) use reservations::Reserve;
use reservations::{End, end_call};
pub(crate) use rooms::Room;
use std::sync::atomic::{AtomicU64, Ordering};
use store::Tx;

/// Longer than the longest call of a provider (ten minutes): a call that is open after this has been forgotten.
pub const OVERDUE_AFTER_S: u64 = 15 * 60;

/// A call that somebody is about to make.
#[derive(Debug, Clone, PartialEq)]
pub struct ReserveCall {
    pub workspace: WorkspaceId,
    pub project: Option<ProjectId>,
    pub agent: Option<AgentId>,
    pub session: Option<SessionId>,
    pub model: String,
    pub prompt_tokens: u64,
    /// What the provider is told to stop at.
    pub max_tokens: u64,
}

/// Money that is set aside for one call. It has to be settled or released; what is not counts as spent after a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Reservation {
    pub id: ModelCallId,
    pub workspace: WorkspaceId,
    /// None if the model has no known price, which only a workspace without limits allows.
    pub reserved: Option<Micros>,
    price: Option<Price>,
}

/// How often money was asked for.
#[derive(Default)]
pub struct Figures {
    pub granted: AtomicU64,
    pub refused: AtomicU64,
}

impl Reservation {
    /// What that much of the model costs, if its price is known.
    pub(crate) fn cost(&self, usage: Usage) -> Option<Micros> {
        self.price.map(|price| cost(price, usage))
    }

    pub(crate) fn used(&self, usage: Usage) -> CallEnd {
        CallEnd::Used { usage, price: self.price }
    }
}

/// Puts the end of a call on record in a transaction that does more.
pub(crate) async fn end_in(
    tx: &mut Tx,
    reservation: &Reservation,
    end: CallEnd,
    budget: Option<&Budget>,
    now: Timestamp,
) -> Result<()> {
    let workspace = &reservation.workspace;
    let Some(before) = tx.scope(workspace).ledger().get(&reservation.id).await? else { return Ok(()) };
    end_call(tx, workspace, &before, end, budget, now).await.map(drop)
}

impl Figures {
    pub(crate) fn count(&self, outcome: &Result<()>) {
        let counter = match outcome.as_ref().map_err(Error::code) {
            Ok(()) => &self.granted,
            Err(Code::BudgetExceeded | Code::PriceUnknown) => &self.refused,
            Err(_) => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a workspace may spend, and the zone of its days.
pub(crate) async fn budget_of(house: &House, workspace: &WorkspaceId) -> Result<Option<Budget>> {
    Ok(rules::in_force(house).await?.workspace(workspace).budget)
}

/// Sets aside what a call may cost at most. Refused if the day's limit of the workspace or of the caller has no room.
pub async fn reserve(ctx: &Ctx, call: ReserveCall) -> Result<Reservation> {
    let (reservation, reserve) = prepare(ctx, call).await?;
    let outcome = ctx.house.store().write(&reservation.workspace, reserve).await;
    ctx.house.budgets().count(&outcome);
    outcome?;
    Ok(reservation)
}

/// A reservation and the operation that makes it so, for whoever has more to do in the same transaction.
pub(crate) async fn prepare(ctx: &Ctx, call: ReserveCall) -> Result<(Reservation, Reserve)> {
    let ReserveCall { workspace, project, agent, session, model, prompt_tokens, max_tokens } = call;
    let rules = rules::in_force(&ctx.house).await?;
    let budget = rules.workspace(&workspace).budget;
    let (now, price) = (ctx.now(), price_of(&rules.house.models, &model));
    let today = LocalDay::of(now, budget.as_ref().and_then(|budget| budget.timezone.as_deref()));
    let user = ctx.caller.user.clone();
    let reserved = price.map(|price| estimate(price, prompt_tokens, max_tokens));
    let call = ModelCall {
        id: ModelCallId::generated(ctx.house.unique()),
        origin: CallOrigin { user: user.clone(), project, agent, session, model },
        day: today.day,
        state: CallState::Open,
        reserved,
        spent: None,
        usage: None,
        holder: ctx.house.holder().to_owned(),
        opened_at: now,
        expires_at: now.plus_seconds(OVERDUE_AFTER_S),
        closed_at: None,
    };
    let id = call.id.clone();
    // What costs nothing takes nothing from anybody.
    let is_free = price.is_some_and(Price::is_free);
    let limits = if is_free { Limits::default() } else { Limits::of(budget.as_ref(), &user) };
    let needs_price = has_limits(budget.as_ref());
    let reserve = Reserve { workspace: workspace.clone(), call, limits, needs_price, today };
    Ok((Reservation { id, workspace, reserved, price }, reserve))
}

/// Books what a call really cost, also if that is more than was set aside; answers the sum that is booked. Saying it
/// twice changes nothing.
pub async fn settle(house: &House, reservation: &Reservation, usage: Usage) -> Result<Option<Micros>> {
    let end = CallEnd::Used { usage, price: reservation.price };
    Ok(self::end(house, reservation, end).await?.and_then(|call| call.spent))
}

/// Nobody will say what a call cost: what was set aside counts as spent.
pub async fn forfeit(house: &House, reservation: &Reservation) -> Result<()> {
    end(house, reservation, CallEnd::Unknown).await.map(drop)
}

/// The provider was not asked: nothing was spent.
pub async fn release(house: &House, reservation: &Reservation) -> Result<()> {
    end(house, reservation, CallEnd::NotAsked).await.map(drop)
}

async fn end(house: &House, reservation: &Reservation, end: CallEnd) -> Result<Option<ModelCall>> {
    let Reservation { id, workspace, .. } = reservation;
    let budget = budget_of(house, workspace).await?;
    let end = End { workspace: workspace.clone(), id: id.clone(), end, budget, now: house.now() };
    house.store().write(workspace, end).await
}
