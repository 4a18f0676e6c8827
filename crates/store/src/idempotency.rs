//! Answers kept for requests that are sent again.

use crate::rows::params;
use crate::sums::{self, Sum};
use crate::{Result, Tx};
use domain::times::Timestamp;

/// Which request this is: the same caller, route and key mean the same request.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub caller: String,
    pub route: String,
    pub key: String,
    pub body_hash: String,
}

/// What became of it the first time.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredOutcome {
    pub body_hash: String,
    /// JSON: what the operation gave, or the refusal.
    pub outcome: String,
    pub refused: bool,
}

fn sum(claim: &Claim, body_hash: &str, outcome: &str, refused: bool) -> i64 {
    let request = Sum::default().text(claim.caller.as_str()).text(claim.route.as_str()).text(claim.key.as_str());
    request.text(body_hash).text(outcome).integer(i64::from(refused)).finish()
}

impl Tx {
    pub async fn outcome(&mut self, claim: &Claim, not_before: Timestamp) -> Result<Option<StoredOutcome>> {
        let row = self
            .query_one(
                "SELECT body_hash, outcome, refused, sum FROM idempotency
                  WHERE caller = $1 AND route = $2 AND key = $3 AND created_at > $4",
                params![claim.caller.as_str(), claim.route.as_str(), claim.key.as_str(), not_before],
            )
            .await?;
        row.map(|mut row| {
            let found = StoredOutcome { body_hash: row.text()?, outcome: row.text()?, refused: row.integer()? != 0 };
            let sum_found = || sum(claim, &found.body_hash, &found.outcome, found.refused);
            sums::check(row.optional_integer()?, sum_found, "a stored answer")?;
            Ok(found)
        })
        .transpose()
    }

    pub async fn keep_outcome(&mut self, claim: &Claim, outcome: &str, refused: bool, at: Timestamp) -> Result<()> {
        let about = self.is_about().map(str::to_owned);
        self.execute(
            "INSERT INTO idempotency (caller, route, key, body_hash, outcome, refused, session_uid, created_at, sum)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (caller, route, key) DO UPDATE SET
               body_hash = excluded.body_hash, outcome = excluded.outcome, refused = excluded.refused,
               session_uid = excluded.session_uid, created_at = excluded.created_at, sum = excluded.sum",
            params![
                claim.caller.as_str(),
                claim.route.as_str(),
                claim.key.as_str(),
                claim.body_hash.as_str(),
                outcome,
                i64::from(refused),
                about.as_deref(),
                at,
                sum(claim, &claim.body_hash, outcome, refused),
            ],
        )
        .await?;
        Ok(())
    }

    /// `uid` is a session's, or the id of an agent or a project; the column is called after the first.
    pub async fn forget_outcomes_of(&mut self, uid: &str) -> Result<()> {
        self.execute("DELETE FROM idempotency WHERE session_uid = $1", params![uid]).await?;
        Ok(())
    }

    /// Forgets at most `limit` answers that are past keeping.
    pub async fn purge_outcomes(&mut self, before: Timestamp, limit: u64) -> Result<u64> {
        self.execute(
            "DELETE FROM idempotency WHERE (caller, route, key) IN (
               SELECT caller, route, key FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT $2)",
            params![before, limit],
        )
        .await
    }
}
