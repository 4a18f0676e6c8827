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
    let Some(claim) = ctx.claim.clone() else { return store.write(turn, operation).await };
    let now = ctx.now();
    let outcome = store.write(turn, Once { operation, claim: claim.clone(), now }).await;
    if let Err(Error::Refused(refusal)) = &outcome
        && refusal.code != Code::IdempotencyMismatch
    {
        let keep = KeepRefusal { refusal: refusal.clone(), claim, now };
        store.write(turn, keep).await?;
    }
    outcome
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
    type Output = O::Output;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<O::Output> {
        if let Some(stored) = tx.outcome(&self.claim, self.now.plus_ms(-KEPT_MS)).await? {
            if stored.body_hash != self.claim.body_hash {
                let message = "this idempotency key was used for another request: take a new key";
                return Err(Refusal::new(Code::IdempotencyMismatch, message).into());
            }
            if stored.refused {
                return Err(read::<Refusal>(&stored.outcome)?.into());
            }
            return read(&stored.outcome);
        }
        let output = self.operation.run(tx).await?;
        tx.keep_outcome(&self.claim, &write_down(&output)?, false, self.now).await?;
        Ok(output)
    }
}

/// A refusal changed nothing, so it may be kept after the fact.
struct KeepRefusal {
    refusal: Refusal,
    claim: Claim,
    now: Timestamp,
}

impl Operation for KeepRefusal {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        if tx.outcome(&self.claim, self.now.plus_ms(-KEPT_MS)).await?.is_none() {
            tx.keep_outcome(&self.claim, &write_down(&self.refusal)?, true, self.now).await?;
        }
        Ok(())
    }
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
