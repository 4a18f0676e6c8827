//! Waiting for what becomes of a message.

use super::Accepted;
use crate::sessions::{self, SessionRef};
use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::callers::Caller;
use domain::events::{Event, StreamId};
use domain::messages::Message;
use domain::money::Micros;
use domain::prices::Usage;
use domain::tasks::Task;
use std::sync::Arc;
use std::time::Duration;
use store::{News, Operation, Tx};

/// How a task ended, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    pub task: Task,
    /// The last message of the turn, if it has one.
    pub reply: Option<Message>,
    /// What all calls of the turn used, and what they cost as far as that is known.
    pub usage: Usage,
    pub cost: Option<Micros>,
}

/// Waits until the task has ended, or for so long. None if it has not.
pub async fn wait(ctx: &Ctx, accepted: &Accepted, longest: Duration) -> Result<Option<Finished>> {
    let stream = StreamId::of_session(&accepted.session);
    // Watched before the row is looked at, so that nothing falls in between.
    let mut watch = ctx.house.store().watch(&accepted.workspace, &stream);
    let ended = async {
        loop {
            let look = Look { caller: ctx.caller.clone(), accepted: accepted.clone() };
            if let Some(finished) = ctx.house.store().read(look).await? {
                return Ok(Some(finished));
            }
            loop {
                match watch.next().await {
                    News::Event(event) if tells_of(&event.kind, &event.data, accepted) => break,
                    News::Missed => break,
                    News::Event(_) | News::Whisper(_) => {}
                }
            }
        }
    };
    let mut closing = ctx.house.authority().watch();
    tokio::select! {
        outcome = tokio::time::timeout(longest, ended) => outcome.unwrap_or(Ok(None)),
        // A house that closes lets its callers go; what was taken in is on disk.
        () = async { while closing.changed().await.is_ok() && !ctx.house.authority().is_closing() {} } => Ok(None),
    }
}

/// Whether an event is about the end of this task; a look too many does no harm.
fn tells_of(kind: &str, data: &str, accepted: &Accepted) -> bool {
    Event::ends_a_task(kind) && data.contains(accepted.task.as_str())
}

struct Look {
    caller: Arc<Caller>,
    accepted: Accepted,
}

impl Operation for Look {
    type Output = Option<Finished>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Finished>> {
        let Accepted { workspace, project, session, task, .. } = &self.accepted;
        // Whoever waits, or asks again with an old key, may have left since.
        let reference = SessionRef { id: session.clone(), workspace: Some(workspace.as_str().to_owned()) };
        sessions::find(tx, &self.caller, &reference).await?;
        let task = tx.scope(workspace).tasks().get(project, task).await?.ok_or_else(Refusal::task_not_found)?;
        if !task.status.has_ended() {
            return Ok(None);
        }
        let Some(number) = task.talk.reply_number else {
            return Ok(Some(Finished { task, reply: None, usage: Usage::default(), cost: None }));
        };
        let range = (task.talk.message_number, number);
        let said = tx.scope(workspace).messages(session).of_task(&task.id, range).await?;
        let made: Vec<_> = said.iter().filter_map(|message| message.made_by.as_ref()).collect();
        let usage = made.iter().fold(Usage::default(), |sum, made| sum.plus(made.usage));
        let cost = made.iter().map(|made| made.cost).try_fold(Micros(0), |sum, cost| Some(sum.plus(cost?)));
        let reply = said.into_iter().rfind(|message| message.number == number);
        Ok(Some(Finished { task, reply, usage, cost }))
    }
}
