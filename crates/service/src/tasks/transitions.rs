//! The one way in which a task moves: row, event and audit together, or not at all.

use crate::Result;
use crate::audit::by_house;
use crate::messages::kept;
use crate::tool_calls::{self, Moving};
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::events::Event;
use domain::ids::{MessageId, WorkspaceId};
use domain::messages::Failure;
use domain::sessions::Session;
use domain::tasks::{Sender, Task, TaskStatus, has_ended};
use domain::times::Timestamp;
use domain::{Code, Refusal};
use store::Tx;

/// Who moves a task.
pub(crate) enum Mover<'a> {
    Caller(&'a Caller),
    /// The house, for whoever sent the message.
    For(&'a Sender),
    /// The house, because something went wrong or went away.
    House,
}

impl Mover<'_> {
    fn record(&self, action: &'static str, at: Timestamp) -> AuditRecord {
        match self {
            Self::Caller(caller) => AuditRecord::new(caller, action, at),
            Self::For(sender) => {
                let (user, participant) = (sender.user.clone(), sender.participant.clone());
                AuditRecord { user, participant, ..by_house(action, at) }
            }
            Self::House => by_house(action, at),
        }
    }
}

fn action(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "task.resume",
        TaskStatus::Running => "task.start",
        TaskStatus::Waiting => "task.wait",
        TaskStatus::Completed => "task.complete",
        TaskStatus::Failed => "task.fail",
        TaskStatus::Cancelled => "task.cancel",
    }
}

/// Moves a task from `before` to `after`, told on its session's stream. Refused if it has moved meanwhile.
pub(crate) async fn put(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    before: &Task,
    after: &Task,
    mover: Mover<'_>,
    now: Timestamp,
) -> Result<()> {
    // A task goes with its session.
    let found = tx.scope(workspace).sessions().get(&before.session).await?;
    let mut session = found.ok_or_else(Refusal::task_not_found)?;
    put_in(tx, &mut session, before, after, mover, now).await?;
    Ok(tx.scope(workspace).sessions().save(&session).await?)
}

/// Cancels a task that has not ended, because of what happened to it or around it.
pub(crate) async fn cancel(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    before: &Task,
    why: &str,
    mover: Mover<'_>,
    now: Timestamp,
) -> Result<Task> {
    let Some(mut session) = tx.scope(workspace).sessions().get(&before.session).await? else {
        return Err(Refusal::task_not_found().into());
    };
    let after = cancel_in(tx, &mut session, before, why, mover, now).await?;
    tx.scope(workspace).sessions().save(&session).await?;
    Ok(after)
}

/// The same for whoever has the session at hand and saves it.
pub(crate) async fn cancel_in(
    tx: &mut Tx,
    session: &mut Session,
    before: &Task,
    why: &str,
    mover: Mover<'_>,
    now: Timestamp,
) -> Result<Task> {
    let mut after = cancelled(before, why, now)?;
    if before.status != TaskStatus::Running {
        // Of one that runs, whoever runs it says how far it came. A task has one such message, so its id can be the task's.
        let id = MessageId::of_task(&before.id);
        let ending = kept::ending(&after, id, String::new(), now);
        after = after.replied(kept::append(tx, session, ending).await?);
    }
    put_in(tx, session, before, &after, mover, now).await?;
    Ok(after)
}

fn cancelled(before: &Task, why: &str, now: Timestamp) -> Result<Task> {
    let error = Failure { code: Code::Cancelled, message: why.to_owned() };
    let after = before.ended(TaskStatus::Cancelled, Some(error), now);
    Ok(after.ok_or_else(|| has_ended(before.status))?)
}

/// The same as `put` for whoever has the session at hand and saves it.
pub(crate) async fn put_in(
    tx: &mut Tx,
    session: &mut Session,
    before: &Task,
    after: &Task,
    mover: Mover<'_>,
    now: Timestamp,
) -> Result<()> {
    let workspace = session.workspace.clone();
    if !tx.scope(&workspace).tasks().advance(after, before.status).await? {
        return Err(has_ended(after.status).into());
    }
    tell(tx, session, after, now);
    if after.status.has_ended() {
        end_calls(tx, session, after, now).await?;
    }
    let mut record = mover
        .record(action(after.status), now)
        .in_session(&session.id)
        .with("task", after.id.as_str())
        .with("agent", after.agent.id.as_str());
    if let Some(error) = &after.error {
        record = record.with("code", error.code.as_str());
    }
    tx.scope(&workspace).audit().append(record);
    Ok(())
}

/// Nobody waits any more for the calls of a task that has ended: what has not begun is not begun.
async fn end_calls(tx: &mut Tx, session: &mut Session, task: &Task, now: Timestamp) -> Result<()> {
    let workspace = session.workspace.clone();
    let calls = tx.scope(&workspace).tool_calls().unconsumed_of_task(&task.id).await?;
    if calls.is_empty() {
        return Ok(());
    }
    // They are told of on the same stream: its numbers go on where this has come to.
    tx.scope(&workspace).sessions().save(session).await?;
    let moving = Moving { workspace: &workspace, mover: tool_calls::Mover::House, now };
    for call in calls {
        moving.abandon(tx, &call).await?;
    }
    let found = tx.scope(&workspace).sessions().get(&session.id).await?;
    session.counters = found.ok_or_else(Refusal::session_not_found)?.counters;
    Ok(())
}

/// Tells on the session's stream that a task has come into the state it is in.
pub(crate) fn tell(tx: &mut Tx, session: &mut Session, task: &Task, now: Timestamp) {
    let event = Event::task(task, now);
    let (workspace, id) = (session.workspace.clone(), session.id.clone());
    tx.scope(&workspace).events().append(&id, &mut session.counters, &event);
}
