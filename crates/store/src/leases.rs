//! Leases: who does what only one may do at a time. Each new holding has a higher number, its fence: whoever lost a
//! lease without noticing is found out by it.

use crate::rows::params;
use crate::{Result, Tx};
use domain::times::Timestamp;

/// A holding of a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    pub name: String,
    pub fence: u64,
}

impl Tx {
    /// Takes the lease, or extends it if `holder` has it. `None` while somebody else does.
    pub async fn take_lease(
        &mut self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<Lease>> {
        let row = self
            .query_one(
                "INSERT INTO leases (name, holder, fence, expires_at) VALUES ($1, $2, 1, $3)
                 ON CONFLICT (name) DO UPDATE SET
                   holder = excluded.holder, expires_at = excluded.expires_at,
                   fence = CASE WHEN leases.expires_at > $4 THEN leases.fence ELSE leases.fence + 1 END
                 WHERE leases.expires_at <= $4 OR leases.holder = excluded.holder
                 RETURNING fence",
                params![name, holder, until, now],
            )
            .await?;
        row.map(|mut row| Ok(Lease { name: name.to_owned(), fence: row.count()? })).transpose()
    }

    /// Whether this very holding still stands. Asked in the transaction that relies on it.
    pub async fn holds_lease(&mut self, lease: &Lease, now: Timestamp) -> Result<bool> {
        let row = self
            .query_one(
                "SELECT fence FROM leases WHERE name = $1 AND fence = $2 AND expires_at > $3",
                params![lease.name.as_str(), lease.fence, now],
            )
            .await?;
        Ok(row.is_some())
    }

    /// Gives a lease back before its time. The number stays, so that the next holding has a higher one.
    pub async fn release_lease(&mut self, lease: &Lease) -> Result<bool> {
        let released = self
            .execute(
                "UPDATE leases SET expires_at = 0 WHERE name = $1 AND fence = $2",
                params![lease.name.as_str(), lease.fence],
            )
            .await?;
        Ok(released == 1)
    }
}
