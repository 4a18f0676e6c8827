//! Calls that were allowed once and are not any more: a member has left, the rules have changed, a machine or an agent has gone.
//! What has not begun is ended as soon as that is known. A call is asked about once more when it would begin, so nothing
//! depends on how soon this comes.

use super::deadlines::is_of_one_call;
use super::delivering::{judge, woken};
use super::judging::{Judge, Judged};
use super::moves::{Mover, Moving};
use super::settings::granted;
use crate::{Error, House, Result};
use domain::messages::Failure;
use domain::tool_calls::{CallStatus, ToolCall};
use std::time::Duration;
use store::{Operation, ToolCallPlace as Place, Tx};

/// Another server of this house may have changed the rules.
const LOOK_EVERY: Duration = Duration::from_secs(30);
const LOOKED_AT_ONCE: u64 = 64;

/// Runs until it is dropped.
pub async fn follow_rights(house: &House) {
    let mut rights = house.authority().watch();
    loop {
        rights.mark_unchanged();
        if let Err(error) = reconsider(house).await {
            if house.authority().is_closing() {
                return;
            }
            tracing::warn!(%error, "calls that wait could not be looked at again yet");
        }
        // Nobody but the house itself ends this.
        let _ = tokio::time::timeout(LOOK_EVERY, rights.changed()).await;
    }
}

/// Looks at every call that waits, and ends what may not be made any more.
pub async fn reconsider(house: &House) -> Result<()> {
    let mut after = String::new();
    loop {
        let judge = judge(house).await?;
        let (fallen, last) = house.store().scan(Look { after, judge: judge.clone() }).await?;
        for place in fallen {
            let workspace = place.0.clone();
            // Decided anew in the same transaction as the move: much may have happened since the look.
            match house.store().write(&workspace, End { place, judge: judge.clone() }).await {
                Ok(Some(judged)) => woken(house, judged.woken).await,
                Ok(None) => {}
                Err(error) if is_of_one_call(&error) => {
                    tracing::warn!(%error, "a call could not be ended");
                }
                Err(error) => return Err(error),
            }
        }
        match last {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

/// What a call becomes that may not be made any more; none if it cannot be stopped.
fn end_of(status: CallStatus) -> Option<CallStatus> {
    match status {
        CallStatus::WaitingApproval | CallStatus::Dispatched => Some(CallStatus::Cancelled),
        CallStatus::Approved => Some(CallStatus::Denied),
        _ => None,
    }
}

async fn fallen(
    tx: &mut Tx,
    (workspace, project, id): &Place,
    judge: &Judge,
) -> Result<Option<(ToolCall, CallStatus, Failure)>> {
    let found = tx.scope(workspace).tool_calls().get(project, id).await?;
    let Some((call, status)) = found.and_then(|call| end_of(call.status).map(|status| (call, status))) else {
        return Ok(None);
    };
    let standing = granted(judge.require_standing(tx, workspace, &call).await)?;
    Ok(standing.err().map(|why| (call, status, why)))
}

struct Look {
    after: String,
    judge: Judge,
}

impl Operation for Look {
    /// Those that have to end, and where to look on.
    type Output = (Vec<Place>, Option<String>);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let open = tx.tool_calls_open(&self.after, LOOKED_AT_ONCE).await?;
        let is_last = (open.len() as u64) < LOOKED_AT_ONCE;
        let last = open.last().filter(|_| !is_last).map(|(_, _, id)| id.as_str().to_owned());
        let mut found = Vec::new();
        for place in open {
            match fallen(tx, &place, &self.judge).await {
                Ok(None) => {}
                Ok(Some(_)) => found.push(place),
                // One that cannot be read must not hold up the others.
                Err(error) if is_of_one_call(&error) => tracing::warn!(%error, "a call cannot be looked at"),
                Err(error) => return Err(error),
            }
        }
        Ok((found, last))
    }
}

struct End {
    place: Place,
    judge: Judge,
}

impl Operation for End {
    type Output = Option<Judged>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Judged>> {
        let Some((call, status, why)) = fallen(tx, &self.place, &self.judge).await? else { return Ok(None) };
        let moving = Moving { workspace: &self.place.0, mover: Mover::House, now: self.judge.now };
        Ok(Some(moving.end(tx, &call, status, why).await?))
    }
}
