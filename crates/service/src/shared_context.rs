//! The `shared_context` tool: one function for every door.

mod changes;
pub(crate) mod expiry;
mod inspection;
mod looks;
mod scene;
mod snapshots;
mod writes;

pub use inspection::inspect;

use crate::sessions::SessionRef;
use crate::{Ctx, Error, Result, idempotency};
use changes::{Action, Change};
use domain::answers::{Answer, Listing};
use domain::requests::{Request, WriteRequest};
use domain::sessions::Session;
use looks::{Look, Looked};
use serde::{Serialize, de::DeserializeOwned};

/// Does what the request says, as the caller's participant.
pub async fn execute(ctx: &Ctx, session: SessionRef, request: Request) -> Result<Answer> {
    match request {
        Request::Write(write) => write_entry(ctx, session, write).await.map(Answer::Written),
        Request::Delete { key, expectation } => {
            change(ctx, session, writes::Delete { key, expectation }).await.map(Answer::Deleted)
        }
        Request::Snapshot { label } => change(ctx, session, snapshots::Take { label }).await.map(Answer::Snapshot),
        Request::RestoreSnapshot { label } => {
            change(ctx, session, snapshots::Restore { label }).await.map(Answer::Restored)
        }
        look => look_at(ctx, session, look).await.map(|(answer, _)| answer),
    }
}

/// The session with the keys that the caller's participant may see, at one moment.
pub(crate) async fn keys_of(ctx: &Ctx, session: SessionRef) -> Result<(Session, Listing)> {
    match look_at(ctx, session, Request::ListKeys { prefix: None }).await? {
        (Answer::Listing(listing), session) => Ok((session, listing)),
        _ => Err(store::Error::BadOperation("keys were asked for and something else was answered").into()),
    }
}

async fn change<A: Action>(ctx: &Ctx, session: SessionRef, action: A) -> Result<A::Output>
where
    A::Output: Serialize + DeserializeOwned,
{
    let turn = session.turn(&ctx.caller);
    let operation = Change { caller: ctx.caller.clone(), session, now: ctx.now(), action };
    idempotency::write(ctx, &turn, operation).await
}

async fn write_entry(ctx: &Ctx, session: SessionRef, request: WriteRequest) -> Result<domain::answers::Written> {
    let write = writes::Write { request, exact_tokens: None };
    match change(ctx, session.clone(), write.clone()).await {
        // Counting exactly takes too long for the writer's thread; most sessions do not ask for it.
        Err(Error::NeedsTokenCount) => {
            let exact_tokens = Some(ctx.house.token_counts().exact(&write.request.value).await);
            change(ctx, session, writes::Write { exact_tokens, ..write }).await
        }
        outcome => outcome,
    }
}

async fn look_at(ctx: &Ctx, session: SessionRef, request: Request) -> Result<(Answer, Session)> {
    let look = Look { caller: ctx.caller.clone(), session, now: ctx.now(), request, settled: false };
    match look_once(ctx, look.clone()).await? {
        Looked::Answer(answer, session) => Ok((answer, *session)),
        // A key's time is over but its end is not on record yet: put it there, then look again.
        Looked::Overdue { workspace, session } => {
            let sweep = expiry::Sweep { workspace: workspace.clone(), session, now: look.now };
            ctx.house.store().write(&workspace, sweep).await?;
            match look_once(ctx, Look { settled: true, ..look }).await? {
                Looked::Answer(answer, session) => Ok((answer, *session)),
                Looked::Overdue { .. } => Err(store::Error::BadOperation("a settled look is never overdue").into()),
            }
        }
    }
}

/// What may read many rows or long values does so away from the threads that serve requests.
async fn look_once(ctx: &Ctx, look: Look) -> Result<Looked> {
    match look.request {
        Request::Read { .. } | Request::ListKeys { .. } | Request::ListSnapshots => ctx.house.store().read(look).await,
        _ => ctx.house.store().scan(look).await,
    }
}
