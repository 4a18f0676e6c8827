//! Calls of which nobody will say any more what became of them: what was set aside for them counts as spent.

use super::reservations::end_call;
use super::{OVERDUE_AFTER_S, budget_of};
use crate::audit::by_house;
use crate::{Error, House, Result};
use domain::ids::WorkspaceId;
use domain::ledger::{CallEnd, ModelCall};
use domain::times::Timestamp;
use domain::workspaces::Budget;
use std::time::Duration;
use store::{Operation, Tx};

const ENDED_AT_ONCE: u64 = 256;
const AFTER_FAILURE: Duration = Duration::from_secs(60);
/// The rest of a moment: to look a little late is to find it over.
const A_LITTLE: Duration = Duration::from_millis(10);

/// Which calls are meant.
#[derive(Clone)]
enum Left {
    /// By an earlier process of this data directory: its calls died with it.
    Behind { holder: String },
    /// By anybody, for longer than any call takes.
    Overdue { now: Timestamp },
}

/// What a process that died had under way may have been spent. If that cannot be written down now, the money stays
/// set aside until the calls are overdue: the house can open all the same.
pub(crate) async fn recover(house: &House) {
    match end_all(house, &Left::Behind { holder: house.holder().to_owned() }).await {
        Ok(0) => {}
        Ok(calls) => tracing::warn!(calls, "model calls were under way when the house stopped; they count as spent"),
        Err(error) => tracing::error!(%error, "model calls that were under way could not be ended yet"),
    }
}

/// Runs until it is dropped.
pub async fn end_overdue_calls(house: &House) {
    loop {
        let pause = match end_overdue_calls_once(house).await {
            // A call that begins now is overdue no sooner than this.
            Ok(next) => next.unwrap_or(Duration::from_secs(OVERDUE_AFTER_S)),
            Err(_) if house.authority().is_closing() => return,
            Err(error) => {
                tracing::warn!(%error, "overdue model calls could not be ended yet");
                AFTER_FAILURE
            }
        };
        tokio::time::sleep(pause + A_LITTLE).await;
    }
}

/// Ends what is overdue; answers how long it is until the next call will be.
pub async fn end_overdue_calls_once(house: &House) -> Result<Option<Duration>> {
    let now = house.now();
    end_all(house, &Left::Overdue { now }).await?;
    let next = house.store().read(Next).await?;
    Ok(next.map(|at| Duration::from_millis(u64::try_from(at.as_ms() - now.as_ms()).unwrap_or(0))))
}

async fn end_all(house: &House, left: &Left) -> Result<u64> {
    let mut ended = 0;
    for workspace in house.store().read(Find { left: left.clone() }).await? {
        let budget = budget_of(house, &workspace).await?;
        loop {
            let (budget, now) = (budget.clone(), house.now());
            let assume = Assume { workspace: workspace.clone(), left: left.clone(), budget, now };
            let count = house.store().write(&workspace, assume).await?;
            ended += count;
            if count < ENDED_AT_ONCE {
                break;
            }
        }
    }
    Ok(ended)
}

struct Find {
    left: Left,
}

impl Operation for Find {
    type Output = Vec<WorkspaceId>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<WorkspaceId>> {
        Ok(match &self.left {
            Left::Behind { holder } => tx.workspaces_held_by(holder).await?,
            Left::Overdue { now } => tx.workspaces_overdue(*now).await?,
        })
    }
}

struct Next;

impl Operation for Next {
    type Output = Option<Timestamp>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Timestamp>> {
        Ok(tx.next_overdue().await?)
    }
}

struct Assume {
    workspace: WorkspaceId,
    left: Left,
    budget: Option<Budget>,
    now: Timestamp,
}

impl Operation for Assume {
    type Output = u64;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<u64> {
        let mut ledger = tx.scope(&self.workspace).ledger();
        let calls: Vec<ModelCall> = match &self.left {
            Left::Behind { holder } => ledger.held_by(holder, ENDED_AT_ONCE).await?,
            Left::Overdue { now } => ledger.overdue(*now, ENDED_AT_ONCE).await?,
        };
        for call in &calls {
            end_call(tx, &self.workspace, call, CallEnd::Unknown, self.budget.as_ref(), self.now).await?;
            let record = by_house("budget.assume", self.now)
                .with("call", call.id.as_str())
                .with("user", call.origin.user.as_str())
                .with("spent_micros", call.reserved.map(|sum| sum.0));
            tx.scope(&self.workspace).audit().append(record);
        }
        Ok(calls.len() as u64)
    }
}
