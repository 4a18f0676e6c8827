//! Tasks that nobody works on any more, or for too long: they end as failed, and history says why. What waits for calls
//! that go on without it is put aside.

use super::transitions::{Mover, put, put_in};
use crate::messages::kept;
use crate::{Error, House, Result};
use domain::ids::{MessageId, ProjectId, TaskId, WorkspaceId};
use domain::messages::Failure;
use domain::tasks::{Task, TaskStatus, interrupted};
use domain::times::Timestamp;
use domain::tool_calls::is_put_on_record;
use store::{Operation, Tx};

/// Where a task is.
pub(crate) type Place = (WorkspaceId, ProjectId, TaskId);

/// Fails what an earlier process of this data directory left running, so that nothing runs twice. What was queued or
/// waiting is left as it is, and what was about to wait for calls on people's machines goes on with what comes of them.
pub(crate) async fn recover(house: &House) -> Result<()> {
    let held = house.store().read(Held { holder: house.holder().to_owned() }).await?;
    let mut failed = 0_u64;
    for place in held {
        failed += u64::from(interrupt(house, place).await?);
    }
    if failed > 0 {
        tracing::warn!(tasks = failed, "tasks were running when the house stopped; they are failed as interrupted");
    }
    Ok(())
}

/// Ends the work on a task that runs: as failed, or parked if calls on people's machines or of plugins go on without it. Answers whether it
/// failed.
pub(crate) async fn interrupt(house: &House, place: Place) -> Result<bool> {
    let turn = place.0.clone();
    if house.store().write(&turn, Park { place: place.clone(), now: house.now() }).await? {
        return Ok(false);
    }
    Ok(fail(house, place, &[TaskStatus::Running], interrupted()).await?.is_some())
}

/// Fails a task that nobody works on, if it is in one of these states; answers it if so.
pub(crate) async fn fail(
    house: &House,
    place: Place,
    states: &'static [TaskStatus],
    why: Failure,
) -> Result<Option<Task>> {
    let message = MessageId::generated(house.unique());
    let turn = place.0.clone();
    house.store().write(&turn, Fail { place, states, why, message, now: house.now() }).await
}

struct Held {
    holder: String,
}

impl Operation for Held {
    type Output = Vec<Place>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Place>> {
        Ok(tx.tasks_held_by(&self.holder).await?)
    }
}

/// Parks a task that was cut off in the middle of calls that go on without it.
struct Park {
    place: Place,
    now: Timestamp,
}

impl Operation for Park {
    /// Whether it could be.
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        let (workspace, project, id) = &self.place;
        let found = tx.scope(workspace).tasks().get(project, id).await?;
        let Some(before) = found.filter(|task| task.status == TaskStatus::Running) else { return Ok(false) };
        let step = kept::newest_step(tx, workspace, &before).await?;
        // What comes before the first open call is kept; the call itself is made once, however often it is asked for.
        let open = step.and_then(|step| step.calls.into_iter().find(|call| call.result.is_none()));
        if open.is_none_or(|call| !is_put_on_record(&call.tool)) {
            return Ok(false);
        }
        let Some(parked) = before.parked() else { return Ok(false) };
        put(tx, workspace, &before, &parked, Mover::House, self.now).await?;
        let calls = tx.scope(workspace).tool_calls().unconsumed_of_task(id).await?;
        if let Some(resumed) = parked.resumed().filter(|_| calls.iter().all(|call| call.status.has_ended())) {
            put(tx, workspace, &parked, &resumed, Mover::House, self.now).await?;
        }
        Ok(true)
    }
}

struct Fail {
    place: Place,
    states: &'static [TaskStatus],
    why: Failure,
    message: MessageId,
    now: Timestamp,
}

impl Operation for Fail {
    type Output = Option<Task>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Task>> {
        let (workspace, project, id) = &self.place;
        let Some(before) = tx.scope(workspace).tasks().get(project, id).await? else { return Ok(None) };
        if !self.states.contains(&before.status) {
            return Ok(None);
        }
        let Some(mut session) = tx.scope(workspace).sessions().get(&before.session).await? else { return Ok(None) };
        let why = Some(self.why.clone());
        let Some(after) = before.ended(TaskStatus::Failed, why, self.now) else { return Ok(None) };
        let ending = kept::ending(&after, self.message.clone(), String::new(), self.now);
        let after = after.replied(kept::append(tx, &mut session, ending).await?);
        put_in(tx, &mut session, &before, &after, Mover::House, self.now).await?;
        tx.scope(workspace).sessions().save(&session).await?;
        Ok(Some(after))
    }
}
