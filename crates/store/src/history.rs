//! Earlier states of a session's keys.

use crate::entries::{Place, access_json, read_access};
use crate::rows::{Row, params};
use crate::sums::{self, Sum};
use crate::{Error, Result, Tx};
use domain::history::{Change, ChangeKind};
use domain::ids::{SessionId, WorkspaceId};
use domain::keys::Key;
use domain::participants::Participant;

pub struct History<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
    pub(crate) session: &'t SessionId,
}

/// Reads `key, kind, version, rev, value, written_by, written_at, access, created_by, value_sum, sum`. The value may
/// have been left out of the row.
fn read(mut row: Row, place: Place<'_>) -> Result<Change> {
    let key = Key::from_trusted(row.text()?);
    let kind = match row.text()?.as_str() {
        "written" => ChangeKind::Written,
        "deleted" => ChangeKind::Deleted,
        "expired" => ChangeKind::Expired,
        _ => return Err(Error::BadRow("a kind of change".into())),
    };
    let (version, rev, value) = (row.count()?, row.count()?, row.optional_text()?);
    let (written_by, written_at) = (Participant::from_trusted(row.text()?), row.time()?);
    let (access, stored_access) = read_access(&mut row)?;
    let (value_sum, stored) = (row.optional_integer()?, row.optional_integer()?);
    if let Some(value) = &value {
        sums::check(value_sum, || sums::of_value(value), "an earlier value")?;
    }
    let change = Change { key, kind, version, rev, value, written_by, written_at, access };
    sums::check(stored, || sum(place, &change, stored_access.as_deref(), value_sum), "a record of history")?;
    Ok(change)
}

/// The sum of everything about a change but its value, which counts with its own sum.
fn sum(place: Place<'_>, change: &Change, access: Option<&str>, value_sum: Option<i64>) -> i64 {
    Sum::default()
        .text(place.workspace.as_str())
        .text(place.session.as_str())
        .text(change.key.as_str())
        .text(change.kind.as_str())
        .integer(value_sum)
        .count(change.version)
        .count(change.rev)
        .text(change.written_by.as_str())
        .time(change.written_at)
        .text(access)
        .text(change.access.by.as_str())
        .finish()
}

impl<'t> History<'t> {
    fn place(&self) -> Place<'t> {
        Place { workspace: self.workspace, session: self.session }
    }

    pub async fn append(&mut self, change: &Change) -> Result<()> {
        let access = access_json(&change.access)?;
        let value_sum = change.value.as_deref().map(sums::of_value);
        let sum = sum(self.place(), change, access.as_deref(), value_sum);
        self.tx
            .execute(
                "INSERT INTO context_history (workspace, session, key, rev, kind, version, value, written_by,
                                              written_at, access, created_by, value_sum, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
                params![
                    self.workspace.as_str(),
                    self.session.as_str(),
                    change.key.as_str(),
                    change.rev,
                    change.kind.as_str(),
                    change.version,
                    change.value.as_deref(),
                    change.written_by.as_str(),
                    change.written_at,
                    access.as_deref(),
                    change.access.by.as_str(),
                    value_sum,
                    sum,
                ],
            )
            .await?;
        Ok(())
    }

    /// Keeps the newest `keep` records of a key. Answers the oldest rev at which the key's state is still known,
    /// if anything was trimmed.
    pub async fn trim(&mut self, key: &Key, keep: u64) -> Result<Option<u64>> {
        let oldest_kept = self
            .tx
            .query_one(
                "SELECT rev FROM context_history WHERE workspace = $1 AND session = $2 AND key = $3
                  ORDER BY rev DESC LIMIT 1 OFFSET $4",
                params![self.workspace.as_str(), self.session.as_str(), key.as_str(), keep.saturating_sub(1)],
            )
            .await?;
        let Some(mut row) = oldest_kept else { return Ok(None) };
        let oldest_kept = row.count()?;
        let trimmed = self
            .tx
            .execute(
                "DELETE FROM context_history WHERE workspace = $1 AND session = $2 AND key = $3 AND rev < $4",
                params![self.workspace.as_str(), self.session.as_str(), key.as_str(), oldest_kept],
            )
            .await?;
        Ok((trimmed > 0).then_some(oldest_kept))
    }

    /// What is retained of one key, oldest first.
    pub async fn of_key(&mut self, key: &Key) -> Result<Vec<Change>> {
        let rows = self
            .tx
            .query(
                "SELECT key, kind, version, rev, value, written_by, written_at, access, created_by, value_sum, sum
                   FROM context_history WHERE workspace = $1 AND session = $2 AND key = $3 ORDER BY rev",
                params![self.workspace.as_str(), self.session.as_str(), key.as_str()],
            )
            .await?;
        let place = self.place();
        rows.into_iter().map(|row| read(row, place)).collect()
    }

    /// The last change of every key up to and including `rev`, without values.
    pub async fn as_of(&mut self, rev: u64) -> Result<Vec<Change>> {
        let rows = self
            .tx
            .query(
                "SELECT h.key, h.kind, h.version, h.rev, NULL, h.written_by, h.written_at, h.access, h.created_by,
                        h.value_sum, h.sum
                   FROM context_history h
                   JOIN (SELECT key, MAX(rev) AS rev FROM context_history
                          WHERE workspace = $1 AND session = $2 AND rev <= $3 GROUP BY key) last
                     ON last.key = h.key AND last.rev = h.rev
                  WHERE h.workspace = $1 AND h.session = $2 ORDER BY h.key",
                params![self.workspace.as_str(), self.session.as_str(), rev],
            )
            .await?;
        let place = self.place();
        rows.into_iter().map(|row| read(row, place)).collect()
    }
}
