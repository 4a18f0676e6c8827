//! Calls of which nobody will say any more what became of them: what was set aside for them counts as spent.

use super::reservations::end_call;
use super::{OVERDUE_AFTER_S, budget_of};
use crate::audit::by_house;
use crate::{Error, House, Result};
use domain::Code;
use domain::ids::{ModelCallId, WorkspaceId};
use domain::ledger::CallEnd;
use domain::times::Timestamp;
use domain::workspaces::Budget;
use std::time::Duration;
use store::{Operation, Tx};

const ENDED_AT_ONCE: usize = 256;
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

#[derive(Default)]
struct Ended {
    calls: u64,
    /// Calls, or workspaces, that something is wrong with; the log says what.
    failures: u64,
}

/// What a process that died had under way may have been spent. If that cannot be written down now, the money stays
/// set aside until the calls are overdue: the house can open all the same.
pub(crate) async fn recover(house: &House) {
    match end_all(house, &Left::Behind { holder: house.holder().to_owned() }).await {
        Ok(Ended { calls: 0, .. }) => {}
        Ok(Ended { calls, .. }) => {
            tracing::warn!(calls, "model calls were under way when the house stopped; they count as spent");
        }
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

/// Ends what is overdue; answers how long it is until there is more to do.
pub async fn end_overdue_calls_once(house: &House) -> Result<Option<Duration>> {
    let now = house.now();
    let ended = end_all(house, &Left::Overdue { now }).await?;
    let next = house.store().read(Next { now }).await?;
    let next = next.map(|at| Duration::from_millis(u64::try_from(at.as_ms() - now.as_ms()).unwrap_or(0)));
    let again = (ended.failures > 0).then_some(AFTER_FAILURE);
    Ok(next.into_iter().chain(again).min())
}

async fn end_all(house: &House, left: &Left) -> Result<Ended> {
    let mut ended = Ended::default();
    for workspace in house.store().read(Find { left: left.clone() }).await? {
        match end_in(house, &workspace, left, &mut ended).await {
            Err(error) if house.authority().is_closing() => return Err(error),
            // What is wrong in one workspace keeps no money of another set aside.
            Err(error) => {
                tracing::error!(%workspace, %error, "the model calls of a workspace could not be ended yet");
                ended.failures += 1;
            }
            Ok(()) => {}
        }
    }
    Ok(ended)
}

/// Ends many calls at once, and if one of them is in the way, each by itself.
async fn end_in(house: &House, workspace: &WorkspaceId, left: &Left, ended: &mut Ended) -> Result<()> {
    let budget = budget_of(house, workspace).await?;
    let assume = |calls: &[ModelCallId]| {
        let (workspace, budget, calls) = (workspace.clone(), budget.clone(), calls.to_vec());
        async move { house.store().write(&workspace.clone(), Assume { workspace, calls, budget, now: house.now() }).await }
    };
    let calls = house.store().read(FindIn { workspace: workspace.clone(), left: left.clone() }).await?;
    for calls in calls.chunks(ENDED_AT_ONCE) {
        match assume(calls).await {
            Ok(count) => ended.calls += count,
            Err(error) if error.code() != Code::Internal => return Err(error),
            Err(_) => {
                for call in calls {
                    match assume(std::slice::from_ref(call)).await {
                        Ok(count) => ended.calls += count,
                        Err(error) => {
                            tracing::error!(%workspace, %call, %error, "a model call could not be ended; its money stays set aside");
                            ended.failures += 1;
                        }
                    }
                }
            }
        }
    }
    Ok(())
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

struct FindIn {
    workspace: WorkspaceId,
    left: Left,
}

impl Operation for FindIn {
    type Output = Vec<ModelCallId>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<ModelCallId>> {
        let mut ledger = tx.scope(&self.workspace).ledger();
        Ok(match &self.left {
            Left::Behind { holder } => ledger.held_by(holder).await?,
            Left::Overdue { now } => ledger.overdue(*now).await?,
        })
    }
}

struct Next {
    now: Timestamp,
}

impl Operation for Next {
    type Output = Option<Timestamp>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Timestamp>> {
        Ok(tx.next_overdue(self.now).await?)
    }
}

/// All of these calls, or none; answers how many had not ended meanwhile.
struct Assume {
    workspace: WorkspaceId,
    calls: Vec<ModelCallId>,
    budget: Option<Budget>,
    now: Timestamp,
}

impl Operation for Assume {
    type Output = u64;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<u64> {
        let Self { workspace, calls, budget, now } = self;
        let mut ended = 0;
        for id in calls {
            let Some(before) = tx.scope(workspace).ledger().get(id).await? else { continue };
            let end = end_call(tx, workspace, &before, CallEnd::Unknown, budget.as_ref(), *now).await?;
            let Some(after) = end else { continue };
            let record = by_house("budget.assume", *now)
                .with("call", after.id.as_str())
                .with("user", after.origin.user.as_str())
                .with("spent_micros", after.spent.map(|sum| sum.0));
            tx.scope(workspace).audit().append(record);
            ended += 1;
        }
        Ok(ended)
    }
}
