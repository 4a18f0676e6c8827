//! Requests that are sent again. What an operation gave is kept in the operation's own transaction, so that a crash
//! cannot separate the two; a twin that arrives meanwhile waits its turn in the writer's queue and finds the answer.

use crate::{Ctx, Error, Result};
use domain::ids::WorkspaceId;
use domain::times::Timestamp;
use domain::{Code, Refusal};
use serde::{Serialize, de::DeserializeOwned};
pub use store::Claim;
use store::{Operation, Tx};

const KEPT_MS: i64 = 24 * 3600 * 1000;

/// Writes `operation`, once for each idempotency key.
pub(crate) async fn write<O>(ctx: &Ctx, turn: &WorkspaceId, operation: O) -> Result<O::Output>
where
    O: Operation<Error = Error>,
    O::Output: Serialize + DeserializeOwned,
{
    let store = ctx.house.store();
    match ctx.claim.clone() {
        None => store.write(turn, operation).await,
        Some(claim) => Ok(store.write(turn, Once { operation, claim, now: ctx.now() }).await??),
    }
}

/// What an earlier request with this key was given, for work that is more than one transaction.
pub(crate) async fn recall<T: DeserializeOwned + Send + 'static>(ctx: &Ctx) -> Result<Option<T>> {
    let Some(claim) = ctx.claim.clone() else { return Ok(None) };
    let stored = ctx.house.store().read(Recall { claim, now: ctx.now() }).await?;
    stored.map(|outcome| Ok(outcome.and_then(|text| read(&text).map_err(Error::into_refusal))?)).transpose()
}

struct Once<O> {
    operation: O,
    claim: Claim,
    now: Timestamp,
}

impl<O> Operation for Once<O>
where
    O: Operation<Error = Error>,
    O::Output: Serialize + DeserializeOwned,
{
    /// A refusal is an answer too and is kept with the same commit, so that a twin hears it.
    type Output = Result<O::Output, Refusal>;
    type Error = Error;

    fn is_small(&self) -> bool {
        self.operation.is_small()
    }

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        match find(tx, &self.claim, self.now).await? {
            Some(Ok(outcome)) => return Ok(Ok(read(&outcome)?)),
            Some(Err(refusal)) => return Ok(Err(refusal)),
            None => {}
        }
        let answer = match tx.attempt(&self.operation).await {
            Ok(output) => Ok(output),
            // What only holds for a moment is not an answer to keep.
            Err(Error::Refused(refusal)) if refusal.code != Code::QueueFull => Err(refusal),
            Err(error) => return Err(error),
        };
        let text = answer.as_ref().map_or_else(write_down, write_down)?;
        tx.keep_outcome(&self.claim, &text, answer.is_err(), self.now).await?;
        Ok(answer)
    }
}

struct Recall {
    claim: Claim,
    now: Timestamp,
}

impl Operation for Recall {
    type Output = Option<Result<String, Refusal>>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        find(tx, &self.claim, self.now).await
    }
}

/// The stored answer of this very request; another request under its key is refused.
async fn find(tx: &mut Tx, claim: &Claim, now: Timestamp) -> Result<Option<Result<String, Refusal>>> {
    let Some(stored) = tx.outcome(claim, now.plus_ms(-KEPT_MS)).await? else { return Ok(None) };
    if stored.body_hash != claim.body_hash {
        let message = "this idempotency key was used for another request: take a new key";
        return Ok(Some(Err(Refusal::new(Code::IdempotencyMismatch, message))));
    }
    Ok(Some(if stored.refused { Err(read(&stored.outcome)?) } else { Ok(stored.outcome) }))
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| store::Error::BadRow(error.to_string()).into())
}

fn write_down<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| store::Error::BadRow(error.to_string()).into())
}

/// Forgets what is past keeping.
pub(crate) fn purge_before(now: Timestamp) -> Timestamp {
    now.plus_ms(-KEPT_MS)
}
