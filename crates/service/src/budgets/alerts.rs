//! What the members of a workspace are told about its budget when money was spent, each thing once a day.

use crate::Result;
use crate::audit::by_house;
use domain::budgets::{Alert, LocalDay};
use domain::events::{Event, EventKind};
use domain::ids::WorkspaceId;
use domain::ledger::DayCounters;
use domain::money::Micros;
use domain::times::Timestamp;
use domain::worker_spaces;
use store::Tx;

pub(super) struct Scene<'a> {
    pub(super) workspace: &'a WorkspaceId,
    /// Of the workspace as a whole.
    pub(super) limit: Option<Micros>,
    pub(super) today: LocalDay,
    pub(super) now: Timestamp,
}

/// Tells what is due, and notes that it was told.
pub(super) async fn tell(tx: &mut Tx, scene: &Scene<'_>, whole: &mut DayCounters) -> Result<()> {
    let Some(limit) = scene.limit else { return Ok(()) };
    for alert in whole.told.due(scene.limit, whole.tally.spent) {
        let (kind, action) = match alert {
            Alert::Warning => (EventKind::BudgetWarning, "budget.warning"),
            Alert::Reached => (EventKind::BudgetReached, "budget.reached"),
        };
        let event = Event::budget(kind, scene.now, limit, whole.tally, scene.today);
        tx.scope(scene.workspace).events().append_workspace(&event).await?;
        let (alert, share) = match alert {
            Alert::Warning => (worker_spaces::Alert::BudgetWarning, "four fifths"),
            Alert::Reached => (worker_spaces::Alert::BudgetReached, "all"),
        };
        let text = format!("{share} of what the workspace may spend today is spent");
        let event = Event::alert(alert, scene.workspace.as_str(), &text, None, scene.now);
        tx.scope(scene.workspace).events().append_workspace(&event).await?;
        let record = by_house(action, scene.now)
            .with("day", scene.today.day.to_string())
            .with("limit_micros", limit.0)
            .with("spent_micros", whole.tally.spent.0);
        tx.scope(scene.workspace).audit().append(record);
    }
    Ok(())
}
