//! What a turn leaves in its session while it runs: steps, results that were waited for, summaries. Only as long as its
//! task runs.

use super::ends::{Place, Settlement};
use super::hosts::require_running;
use crate::messages::kept;
use crate::tool_calls::{Mover, Moving};
use crate::{Error, Result};
use domain::Refusal;
use domain::messages::{Message, ToolUse};
use domain::node_tools::NodeTool;
use domain::sessions::Session;
use domain::times::Timestamp;
use domain::tool_calls::Waiter;
use store::{LITTLE_BYTES, Operation, Tx};

pub(super) async fn session_of(tx: &mut Tx, place: &Place) -> Result<Session> {
    let found = tx.scope(&place.workspace).sessions().get(&place.task.session).await?;
    let session = found.ok_or_else(Refusal::session_not_found)?;
    session.require_active()?;
    Ok(session)
}

/// Whether words and calls are of a size that holds nobody up.
pub(super) fn is_little(words: &str, calls: &[ToolUse]) -> bool {
    let size = |call: &ToolUse| call.arguments.len() + call.result.as_ref().map_or(0, |result| result.content.len());
    words.len() + calls.iter().map(size).sum::<usize>() <= LITTLE_BYTES
}

/// Keeps a step that is over, and settles the call it came from.
pub(super) struct KeepMessage {
    pub(super) place: Place,
    pub(super) message: Message,
    pub(super) settlement: Option<Settlement>,
    pub(super) now: Timestamp,
}

impl Operation for KeepMessage {
    /// Whether the task still ran; if not, only the money is on record.
    type Output = bool;
    type Error = Error;

    fn is_small(&self) -> bool {
        is_little(&self.message.content, &self.message.calls)
    }

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        // Money first: it was spent whatever became of the task.
        Settlement::put(tx, self.settlement.as_ref(), self.now).await?;
        if require_running(tx, &self.place.workspace, &self.place.task).await.is_err() {
            return Ok(false);
        }
        let mut session = session_of(tx, &self.place).await?;
        kept::append(tx, &mut session, self.message.clone()).await?;
        tx.scope(&self.place.workspace).sessions().save(&session).await?;
        consume(tx, &self.place, &self.message.calls, self.now).await?;
        Ok(true)
    }
}

/// What came of calls on people's machines is the turn's from here on, and is given to it once.
async fn consume(tx: &mut Tx, place: &Place, uses: &[ToolUse], now: Timestamp) -> Result<()> {
    let Place { workspace, task } = place;
    let has_result = |waiter: &Waiter| uses.iter().any(|made| made.id == waiter.call && made.result.is_some());
    if uses.iter().all(|made| NodeTool::parse(&made.tool).is_none()) {
        return Ok(());
    }
    let moving = Moving { workspace, mover: Mover::House, now };
    for call in tx.scope(workspace).tool_calls().unconsumed_of_task(&task.id).await? {
        let is_taken = call.origin.waiter.as_ref().is_some_and(has_result);
        if is_taken && call.status.has_ended() {
            moving.consume(tx, &call).await?;
        }
    }
    Ok(())
}

/// Writes down what became of the calls that the last step of the turn waited for.
pub(super) struct KeepResults {
    pub(super) place: Place,
    pub(super) calls: Vec<ToolUse>,
    pub(super) now: Timestamp,
}

impl Operation for KeepResults {
    type Output = ();
    type Error = Error;

    fn is_small(&self) -> bool {
        is_little("", &self.calls)
    }

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let Place { workspace, task } = &self.place;
        require_running(tx, workspace, task).await?;
        let Some(step) = kept::newest_step(tx, workspace, task).await? else { return Ok(()) };
        let step = Message { calls: self.calls.clone(), ..step };
        tx.scope(workspace).messages(&task.session).save_calls(&step).await?;
        consume(tx, &self.place, &self.calls, self.now).await
    }
}

/// Keeps a summary, unless another turn has summarised as much meanwhile.
pub(super) struct KeepSummary {
    pub(super) place: Place,
    pub(super) message: Message,
    pub(super) settlement: Option<Settlement>,
    pub(super) now: Timestamp,
}

impl Operation for KeepSummary {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let Place { workspace, task } = &self.place;
        Settlement::put(tx, self.settlement.as_ref(), self.now).await?;
        if require_running(tx, workspace, task).await.is_err() {
            return Ok(());
        }
        let newest = tx.scope(workspace).messages(&task.session).newest_summary().await?;
        if newest.and_then(|summary| summary.covers) >= self.message.covers {
            return Ok(());
        }
        let mut session = session_of(tx, &self.place).await?;
        kept::append(tx, &mut session, self.message.clone()).await?;
        Ok(tx.scope(workspace).sessions().save(&session).await?)
    }
}
