//! How the end of a turn is kept: the last words, the money and the task's state in one transaction.

use super::hosts::Host;
use super::keeping::is_little;
use crate::budgets::{self, Reservation};
use crate::messages::kept;
use crate::tasks::recovery;
use crate::tasks::transitions::{Mover, put_in};
use crate::{Error, House, Result};
use agent::Answer;
use domain::Code;
use domain::ids::{MessageId, WorkspaceId};
use domain::ledger::CallEnd;
use domain::messages::{Failure, MadeBy, Message, ToolUse};
use domain::tasks::{Task, TaskStatus};
use domain::times::Timestamp;
use domain::workspaces::Budget;
use std::time::Duration;
use store::{Operation, Tx};

/// A disk that is full for a moment must not cost an answer that was paid for.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(250);

/// Which task a turn is for.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) workspace: WorkspaceId,
    pub(super) task: Task,
}

pub(super) fn place(host: &Host) -> Place {
    Place { workspace: host.workspace().clone(), task: host.task().clone() }
}

/// How a call of the model ended, to be put on record with what came of it.
#[derive(Clone)]
pub(super) struct Settlement {
    pub(super) reservation: Reservation,
    pub(super) end: CallEnd,
    pub(super) budget: Option<Budget>,
}

impl Settlement {
    pub(super) async fn put(tx: &mut Tx, settlement: Option<&Self>, now: Timestamp) -> Result<()> {
        let Some(Self { reservation, end, budget }) = settlement else { return Ok(()) };
        budgets::end_in(tx, reservation, *end, budget.as_ref(), now).await
    }
}

/// The turn has an answer.
pub(super) async fn replied(host: &Host, answer: Answer) -> Result<()> {
    host.answered_well(answer.usage).await;
    let reservation = host.redeem(&answer.ticket);
    let cost = reservation.as_ref().and_then(|reservation| reservation.cost(answer.usage));
    let settlement = host.used(reservation, answer.usage).await?;
    let message = host.message(answer.text, answer.model, answer.usage, cost);
    let made_by = message.made_by.map(|made| MadeBy { truncated: answer.truncated, ..made });
    let message = Message { made_by, ..message };
    close(host, Close::new(host, TaskStatus::Completed, None, Some(message), settlement)).await
}

/// The turn failed, and history says why.
pub(super) async fn without_answer(host: &Host, why: Failure) -> Result<()> {
    let (shown, open) = host.left_over();
    let settlement = host.settlement(open, CallEnd::Unknown).await?;
    let id = MessageId::generated(host.house().unique());
    let message = kept::by_agent(host.task(), id, shown, host.house().now());
    let message = Message { error: Some(why.clone()), ..message };
    close(host, Close::new(host, TaskStatus::Failed, Some(why), Some(message), settlement)).await
}

/// A call waits for somebody: the task lets go of its place.
pub(super) async fn parked(host: &Host) -> Result<()> {
    let (_, open) = host.left_over();
    let settlement = host.settlement(open, CallEnd::Unknown).await?;
    close(host, Close::new(host, TaskStatus::Waiting, None, None, settlement)).await
}

/// Somebody else ended the task: what is left is the money, and what had been shown.
pub(super) async fn stopped(host: &Host) -> Result<()> {
    let (shown, open) = host.left_over();
    let settlement = host.settlement(open, CallEnd::Unknown).await?;
    let (id, now) = (MessageId::generated(host.house().unique()), host.house().now());
    let leave = Leave { place: place(host), shown, made: host.made(), id, settlement, now };
    if host.house().store().write(host.workspace(), leave).await? {
        host.figures().ended(TaskStatus::Cancelled);
    }
    Ok(())
}

/// A turn that could not even begin.
pub(super) async fn failed(house: &House, workspace: &WorkspaceId, task: &Task, why: Failure) -> bool {
    house.turns().ended(TaskStatus::Failed);
    let place = (workspace.clone(), task.project.clone(), task.id.clone());
    let failed = recovery::fail(house, place, &[TaskStatus::Queued], why).await;
    if let Err(error) = &failed {
        tracing::error!(task = %task.id, %error, "the end of a turn could not be kept");
    }
    failed.is_ok()
}

async fn close(host: &Host, close: Close) -> Result<()> {
    let mut tries = 1;
    loop {
        match host.house().store().write(host.workspace(), close.clone()).await {
            Ok(status) => {
                if let Some(status) = status.filter(|status| status.has_ended()) {
                    host.figures().ended(status);
                }
                return Ok(());
            }
            Err(error) if tries < TRIES && is_passing(&error) => {
                tracing::warn!(%error, "the end of a turn is not on disk yet");
                tokio::time::sleep(PAUSE * (1 << tries)).await;
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_passing(error: &Error) -> bool {
    matches!(error.code(), Code::StorageFull | Code::Unavailable | Code::QueueFull)
}

/// The end of a turn of a task that is still this turn's; of one that is not, only the money.
#[derive(Clone)]
struct Close {
    place: Place,
    /// The state it is in, unless somebody else has moved it: a turn may fail before it has started.
    expected: TaskStatus,
    status: TaskStatus,
    why: Option<Failure>,
    message: Option<Message>,
    settlement: Option<Settlement>,
    now: Timestamp,
}

impl Close {
    fn new(
        host: &Host,
        status: TaskStatus,
        why: Option<Failure>,
        message: Option<Message>,
        settlement: Option<Settlement>,
    ) -> Self {
        Self {
            place: place(host),
            expected: host.expected(),
            status,
            why,
            message,
            settlement,
            now: host.house().now(),
        }
    }

    fn after(&self, before: &Task) -> Option<Task> {
        match self.status {
            TaskStatus::Waiting => before.parked(),
            status => before.ended(status, self.why.clone(), self.now),
        }
    }

    /// What a turn would wait for may have come while it was being parked: then it goes back to its queue.
    async fn resumed(&self, tx: &mut Tx, parked: &Task) -> Result<Option<Task>> {
        if parked.status != TaskStatus::Waiting {
            return Ok(None);
        }
        let calls = tx.scope(&self.place.workspace).tool_calls().unconsumed_of_task(&parked.id).await?;
        let has_come = !calls.is_empty() && calls.iter().all(|call| call.status.has_ended());
        Ok(has_come.then(|| parked.resumed()).flatten())
    }

    /// Somebody ended the task while its answer was on the way: what was shown of it is not lost.
    async fn leave_words(&self, tx: &mut Tx, ended: &Task) -> Result<()> {
        let Some(message) = self.message.clone().filter(|_| ended.status.has_ended()) else { return Ok(()) };
        leave(tx, &self.place.workspace, ended, Message { error: ended.error.clone(), ..message }).await
    }
}

/// Puts words of a turn whose task somebody else has ended into its session, if it is open still.
async fn leave(tx: &mut Tx, workspace: &WorkspaceId, ended: &Task, message: Message) -> Result<()> {
    let has_words = !message.content.is_empty() || !message.calls.is_empty();
    // Whoever ended it may have said so in its history already.
    if !has_words && ended.talk.reply_number.is_some() {
        return Ok(());
    }
    let found = tx.scope(workspace).sessions().get(&message.session).await?;
    let Some(mut session) = found.filter(|session| session.require_active().is_ok()) else { return Ok(()) };
    kept::append(tx, &mut session, message).await?;
    Ok(tx.scope(workspace).sessions().save(&session).await?)
}

impl Operation for Close {
    /// The state that the task came into by this, if it did.
    type Output = Option<TaskStatus>;
    type Error = Error;

    fn is_small(&self) -> bool {
        self.message.as_ref().is_none_or(|message| is_little(&message.content, &message.calls))
    }

    async fn run(&self, tx: &mut Tx) -> Result<Option<TaskStatus>> {
        let Place { workspace, task } = &self.place;
        Settlement::put(tx, self.settlement.as_ref(), self.now).await?;
        let Some(before) = tx.scope(workspace).tasks().get(&task.project, &task.id).await? else { return Ok(None) };
        if before.status != self.expected {
            self.leave_words(tx, &before).await?;
            return Ok(None);
        }
        let Some(mut after) = self.after(&before) else { return Ok(None) };
        let Some(mut session) = tx.scope(workspace).sessions().get(&task.session).await? else { return Ok(None) };
        if let Some(message) = self.message.clone() {
            after = after.replied(kept::append(tx, &mut session, message).await?);
        }
        put_in(tx, &mut session, &before, &after, Mover::For(&task.sender), self.now).await?;
        if let Some(resumed) = self.resumed(tx, &after).await? {
            put_in(tx, &mut session, &after, &resumed, Mover::House, self.now).await?;
        }
        tx.scope(workspace).sessions().save(&session).await?;
        Ok(Some(after.status))
    }
}

struct Leave {
    place: Place,
    shown: String,
    /// Calls of tools that were made in the step it was stopped in.
    made: Vec<ToolUse>,
    id: MessageId,
    settlement: Option<Settlement>,
    now: Timestamp,
}

impl Operation for Leave {
    /// Whether the task is over; else it waits for calls that go on, and finds by itself what came of them.
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        let Self { place: Place { workspace, task }, shown, made, id, settlement, .. } = self;
        Settlement::put(tx, settlement.as_ref(), self.now).await?;
        let found = tx.scope(workspace).tasks().get(&task.project, &task.id).await?;
        let Some(ended) = found.filter(|task| task.status.has_ended()) else { return Ok(false) };
        let ending = kept::ending(&ended, id.clone(), shown.clone(), self.now);
        let calls = self.put_into_step(tx, made.clone()).await?;
        leave(tx, workspace, &ended, Message { calls, ..ending }).await?;
        Ok(true)
    }
}

impl Leave {
    /// What came of calls of a step that is kept already belongs there; gives the others.
    async fn put_into_step(&self, tx: &mut Tx, made: Vec<ToolUse>) -> Result<Vec<ToolUse>> {
        let Place { workspace, task } = &self.place;
        let step = if made.is_empty() { None } else { kept::newest_step(tx, workspace, task).await? };
        let Some(mut step) = step else { return Ok(made) };
        let is_own = |made: &ToolUse| step.calls.iter().any(|call| call.id == made.id);
        let (own, others): (Vec<ToolUse>, Vec<ToolUse>) = made.into_iter().partition(is_own);
        for made in own {
            if let Some(call) = step.calls.iter_mut().find(|call| call.id == made.id) {
                call.result = made.result;
            }
        }
        tx.scope(workspace).messages(&task.session).save_calls(&step).await?;
        Ok(others)
    }
}
