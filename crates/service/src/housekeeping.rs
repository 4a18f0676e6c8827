//! What the house does by itself: ends keys, model calls, tasks and worker spaces whose time is over, counts alerts, tells
//! of nodes that are gone, calls plugins, forgets what is past keeping.

use crate::shared_context::expiry::Sweep;
use crate::{Error, House, Result, budgets, idempotency, nodes, plugins, tasks, tool_calls, worker_spaces};
use domain::ids::{SessionId, WorkspaceId};
use domain::times::Timestamp;
use std::time::Duration;
use store::{Lease, Operation, Retention, Tx};

const SWEPT_AT_ONCE: u64 = 256;
const PURGE_EVERY: Duration = Duration::from_secs(600);
/// After somebody else's turn, or a failure.
const ANOTHER_TURN_AFTER: Duration = Duration::from_secs(60);
const PURGED_AT_ONCE: u64 = 5_000;
/// What was done on people's machines is looked up for so long.
const CALLS_KEPT_MS: i64 = 90 * 24 * 3_600 * 1_000;
/// No provider tells a message again after so long, and nobody asks what became of an answer.
const HEARD_KEPT_MS: i64 = 30 * 24 * 3_600 * 1_000;
/// Each may have megabytes.
const CALLS_PURGED_AT_ONCE: u64 = 100;
/// Even a sleep until a known moment is cut here, because the machine's clock may be set meanwhile.
const SLEEP_LONGEST: Duration = Duration::from_secs(60);
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Runs until it is dropped.
pub async fn run(house: House) {
    tokio::join!(
        expire(&house),
        budgets::end_overdue_calls(&house),
        tasks::end_overdue_tasks(&house),
        worker_spaces::end_idle_spaces(&house),
        worker_spaces::count_alerts(&house),
        nodes::tell_of_the_gone(&house),
        tool_calls::end_overdue_calls(&house),
        tool_calls::follow_rights(&house),
        tool_calls::call_plugins(&house),
        plugins::follow(&house),
        purge(&house),
    );
}

async fn expire(house: &House) {
    loop {
        let pause = match sweep_due(house).await {
            Ok(next) => next.map(|at| until(house, at).min(SLEEP_LONGEST)),
            Err(error) => {
                tracing::warn!(%error, "expired keys could not be put on record; they stay absent all the same");
                Some(AFTER_FAILURE)
            }
        };
        let set = house.store().expiry_set().notified();
        match pause {
            Some(pause) => {
                // A new, earlier expiry ends the sleep.
                let _ = tokio::time::timeout(pause, set).await;
            }
            None => set.await,
        }
    }
}

fn until(house: &House, at: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(at.as_ms() - house.now().as_ms()).unwrap_or(0))
}

/// Sweeps every session that has expired keys; answers when the next key expires.
async fn sweep_due(house: &House) -> Result<Option<Timestamp>> {
    loop {
        let now = house.now();
        let (due, next) = house.store().read(Due { now }).await?;
        if due.is_empty() {
            return Ok(next);
        }
        for (workspace, session) in due {
            house.store().write(&workspace.clone(), Sweep { workspace, session, now }).await?;
        }
    }
}

struct Due {
    now: Timestamp,
}

impl Operation for Due {
    type Output = (Vec<(WorkspaceId, SessionId)>, Option<Timestamp>);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        Ok((tx.sessions_with_expired_keys(self.now, SWEPT_AT_ONCE).await?, tx.next_expiry().await?))
    }
}

async fn purge(house: &House) {
    let holder = house.unique().simple().to_string();
    loop {
        let pause = match purge_once(house, &holder).await {
            Ok(true) => PURGE_EVERY,
            Ok(false) => ANOTHER_TURN_AFTER,
            // A house that closes has no need of it; the next to open will see to it.
            Err(_) if house.authority().is_closing() => return,
            Err(error) => {
                tracing::warn!(%error, "what is past keeping could not be forgotten yet");
                ANOTHER_TURN_AFTER
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Forgets what is past keeping, unless another server of this house does. Answers whether it was this one's turn.
pub async fn purge_once(house: &House, holder: &str) -> Result<bool> {
    let turn = crate::users::house_chain();
    let take = TakeTurn { holder: holder.to_owned(), now: house.now() };
    let Some(lease) = house.store().write(&turn, take).await? else { return Ok(false) };
    // A little at a time, so that nobody waits long behind it.
    loop {
        let operation = Purge { lease: lease.clone(), now: house.now(), retention: Retention::default() };
        if house.store().write(&turn, operation).await? < PURGED_AT_ONCE {
            house.store().write(&turn, EndTurn { lease }).await?;
            return Ok(true);
        }
    }
}

struct EndTurn {
    lease: Lease,
}

impl Operation for EndTurn {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        Ok(tx.release_lease(&self.lease).await?)
    }
}

struct TakeTurn {
    holder: String,
    now: Timestamp,
}

impl Operation for TakeTurn {
    type Output = Option<Lease>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Lease>> {
        let until = self.now.plus_ms(i64::try_from(PURGE_EVERY.as_millis()).unwrap_or(i64::MAX));
        Ok(tx.take_lease("purge", &self.holder, self.now, until).await?)
    }
}

/// Forgets old events, answers and tokens; answers how much there was at most of each.
struct Purge {
    lease: Lease,
    now: Timestamp,
    retention: Retention,
}

impl Operation for Purge {
    type Output = u64;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<u64> {
        if !tx.holds_lease(&self.lease, self.now).await? {
            return Ok(0);
        }
        let outcomes = tx.purge_outcomes(idempotency::purge_before(self.now), PURGED_AT_ONCE).await?;
        let tokens = tx.purge_tokens(self.now, PURGED_AT_ONCE).await?;
        let events = tx.purge_events(self.retention, self.now, PURGED_AT_ONCE).await?;
        let calls = tx.purge_tool_calls(self.now.plus_ms(-CALLS_KEPT_MS), CALLS_PURGED_AT_ONCE).await?;
        let known = tx.purge_snapshots_of_house(self.now.plus_ms(-CALLS_KEPT_MS), CALLS_PURGED_AT_ONCE).await?;
        tx.forget_standing_rules(self.now).await?;
        tx.forget_pairings(self.now).await?;
        tx.forget_sender_pairings(self.now).await?;
        let heard = tx.purge_heard(self.now.plus_ms(-HEARD_KEPT_MS), PURGED_AT_ONCE).await?;
        let delivered = tx.purge_deliveries(self.now.plus_ms(-HEARD_KEPT_MS), PURGED_AT_ONCE).await?;
        let told = tx.purge_notices(self.now.plus_ms(-HEARD_KEPT_MS), PURGED_AT_ONCE).await?;
        let is_more = calls.max(known) == CALLS_PURGED_AT_ONCE;
        Ok(if is_more { PURGED_AT_ONCE } else { outcomes.max(tokens).max(events).max(heard).max(delivered).max(told) })
    }
}
