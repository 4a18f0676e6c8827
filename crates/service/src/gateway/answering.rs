//! What becomes of a message that was taken, for as long as whoever wrote it may know.

use super::looking::{Asked, Look, Looked, look};
use super::{Taken, caller, ctx};
use crate::messages::{self, Finished};
use crate::{Error, House, Result};
use domain::callers::Caller;
use domain::channels::InboundMessage;
use domain::routing::Route;
use domain::tasks::TaskStatus;
use std::sync::Arc;
use std::time::Duration;
use store::{Operation, Tx};

/// How far a turn is, as its place may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    AtWork,
    /// For a person, or for something that takes its time.
    Waiting,
    /// Ended, or none of the place's business any more.
    Over,
}

pub async fn stage(house: &House, message: &InboundMessage, taken: &Taken) -> Result<Stage> {
    house.store().read(FindStage { asked: Asked::of(message), taken: taken.clone() }).await
}

struct FindStage {
    asked: Asked,
    taken: Taken,
}

impl Operation for FindStage {
    type Output = Stage;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Stage> {
        let Some(turn) = &self.taken.turn else { return Ok(Stage::Over) };
        if !leads_to(&look(tx, &self.asked).await?, &self.taken) {
            return Ok(Stage::Over);
        }
        let task = tx.scope(&turn.workspace).tasks().get(&turn.project, &turn.task).await?;
        Ok(match task.map(|task| task.status) {
            Some(TaskStatus::Queued | TaskStatus::Running) => Stage::AtWork,
            Some(TaskStatus::Waiting) => Stage::Waiting,
            Some(TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled) | None => Stage::Over,
        })
    }
}

/// Waits for the answer to a message, or for so long. None if there is none, and also if the place does not lead there any
/// more: what is under way is not told to whoever has left.
pub async fn answer(
    house: &House,
    message: &InboundMessage,
    taken: &Taken,
    longest: Duration,
) -> Result<Option<Finished>> {
    let Some(turn) = &taken.turn else { return Ok(None) };
    let asked = Asked::of(message);
    let Some(caller) = still_leads_to(house, &asked, taken).await? else { return Ok(None) };
    let finished = match messages::wait(&ctx(house, Arc::new(caller)), turn, longest).await {
        Ok(finished) => finished,
        Err(Error::Refused(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(if still_leads_to(house, &asked, taken).await?.is_some() { finished } else { None })
}

async fn still_leads_to(house: &House, asked: &Asked, taken: &Taken) -> Result<Option<Caller>> {
    let looked = house.store().read(Look { asked: asked.clone() }).await?;
    let is_so = leads_to(&looked, taken);
    Ok(looked.user.filter(|_| is_so).map(caller))
}

fn leads_to(looked: &Looked, taken: &Taken) -> bool {
    let same = |route: &Route| route.workspace == taken.workspace && route.user == taken.user;
    looked.routing.decision.as_ref().is_ok_and(same)
}
