//! The live keys of one session's shared context.

use crate::rows::{Param, Row, from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Result, Tx};
use domain::entries::{Access, Entry};
use domain::ids::{SessionId, WorkspaceId};
use domain::keys::Key;
use domain::participants::{Participant, Patterns};
use domain::times::Timestamp;

pub struct Entries<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
    pub(crate) session: &'t SessionId,
}

/// Reads `access, created_by`: no lists stored means open ones. Gives the lists as they are stored, too.
pub(crate) fn read_access(row: &mut Row) -> Result<(Access, Option<String>)> {
    let stored = row.optional_text()?;
    let by = Participant::from_trusted(row.text()?);
    let lists: Option<(Patterns, Patterns)> = stored.as_deref().map(from_json).transpose()?;
    let access = match lists {
        Some((readable_by, writable_by)) => Access { readable_by, writable_by, by },
        None => Access::open(by),
    };
    Ok((access, stored))
}

pub(crate) fn access_json(access: &Access) -> Result<Option<String>> {
    let everybody = Patterns::everybody();
    if access.readable_by == everybody && access.writable_by == everybody {
        return Ok(None);
    }
    to_json(&(&access.readable_by, &access.writable_by)).map(Some)
}

/// The session that an entry belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) workspace: &'p WorkspaceId,
    pub(crate) session: &'p SessionId,
}

/// The sum of everything about an entry but its value, which counts with its own sum.
fn sum(place: Place<'_>, entry: &Entry, access: Option<&str>, value_sum: Option<i64>) -> i64 {
    Sum::default()
        .text(place.workspace.as_str())
        .text(place.session.as_str())
        .text(entry.key.as_str())
        .integer(value_sum)
        .count(entry.version)
        .count(entry.rev)
        .text(entry.written_by.as_str())
        .time(entry.written_at)
        .count(entry.tokens)
        .time(entry.expires_at)
        .text(access)
        .text(entry.access.by.as_str())
        .finish()
}

/// Reads `key, value, version, rev, written_by, written_at, tokens, expires_at, access, created_by, value_sum, sum`. The
/// value may have been left out of the row.
pub(crate) fn read(mut row: Row, place: Place<'_>) -> Result<Entry> {
    let (key, value) = (Key::from_trusted(row.text()?), row.optional_text()?);
    let (version, rev) = (row.count()?, row.count()?);
    let (written_by, written_at) = (Participant::from_trusted(row.text()?), row.time()?);
    let (tokens, expires_at) = (row.count()?, row.optional_time()?);
    let (access, stored_access) = read_access(&mut row)?;
    let (value_sum, stored) = (row.optional_integer()?, row.optional_integer()?);
    if let Some(value) = &value {
        sums::check(value_sum, || sums::of_value(value), "a value")?;
    }
    let value = value.unwrap_or_default();
    let entry = Entry { key, value, version, rev, written_by, written_at, tokens, expires_at, access };
    sums::check(stored, || sum(place, &entry, stored_access.as_deref(), value_sum), "an entry")?;
    Ok(entry)
}

impl Entries<'_> {
    async fn select(&mut self, sql: &'static str, extra: &[Param<'_>]) -> Result<Vec<Entry>> {
        let mut all = vec![Param::from(self.workspace.as_str()), Param::from(self.session.as_str())];
        all.extend_from_slice(extra);
        let place = Place { workspace: self.workspace, session: self.session };
        self.tx.query(sql, &all).await?.into_iter().map(|row| read(row, place)).collect()
    }

    /// The stored entry, expired or not.
    pub async fn get(&mut self, key: &Key) -> Result<Option<Entry>> {
        let found = self
            .select(
                "SELECT key, value, version, rev, written_by, written_at, tokens, expires_at, access, created_by,
                        value_sum, sum
                   FROM context_entries WHERE workspace = $1 AND session = $2 AND key = $3",
                params![key.as_str()],
            )
            .await?;
        Ok(found.into_iter().next())
    }

    /// Every stored entry, in key order.
    pub async fn all(&mut self) -> Result<Vec<Entry>> {
        self.select(
            "SELECT key, value, version, rev, written_by, written_at, tokens, expires_at, access, created_by,
                    value_sum, sum
               FROM context_entries WHERE workspace = $1 AND session = $2 ORDER BY key",
            &[],
        )
        .await
    }

    /// Every stored entry without its value, in key order.
    pub async fn all_without_values(&mut self) -> Result<Vec<Entry>> {
        self.select(
            "SELECT key, NULL, version, rev, written_by, written_at, tokens, expires_at, access, created_by,
                    value_sum, sum
               FROM context_entries WHERE workspace = $1 AND session = $2 ORDER BY key",
            &[],
        )
        .await
    }

    /// What has expired by `now`, oldest first.
    pub async fn expired(&mut self, now: Timestamp) -> Result<Vec<Entry>> {
        self.select(
            "SELECT key, NULL, version, rev, written_by, written_at, tokens, expires_at, access, created_by,
                    value_sum, sum
               FROM context_entries
              WHERE workspace = $1 AND session = $2 AND expires_at IS NOT NULL AND expires_at <= $3
              ORDER BY expires_at, key",
            params![now],
        )
        .await
    }

    pub async fn next_expiry(&mut self) -> Result<Option<Timestamp>> {
        let row = self
            .tx
            .query_one(
                "SELECT MIN(expires_at) FROM context_entries WHERE workspace = $1 AND session = $2",
                params![self.workspace.as_str(), self.session.as_str()],
            )
            .await?;
        row.map_or(Ok(None), |mut row| row.optional_time())
    }

    pub async fn put(&mut self, entry: &Entry) -> Result<()> {
        let access = access_json(&entry.access)?;
        let value_sum = sums::of_value(&entry.value);
        let place = Place { workspace: self.workspace, session: self.session };
        let sum = sum(place, entry, access.as_deref(), Some(value_sum));
        self.tx
            .execute(
                "INSERT INTO context_entries (workspace, session, key, value, version, rev, written_by, written_at,
                                              tokens, expires_at, access, created_by, value_sum, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
                 ON CONFLICT (workspace, session, key) DO UPDATE SET
                   value = excluded.value, version = excluded.version, rev = excluded.rev,
                   written_by = excluded.written_by, written_at = excluded.written_at, tokens = excluded.tokens,
                   expires_at = excluded.expires_at, access = excluded.access, created_by = excluded.created_by,
                   value_sum = excluded.value_sum, sum = excluded.sum",
                params![
                    self.workspace.as_str(),
                    self.session.as_str(),
                    entry.key.as_str(),
                    entry.value.as_str(),
                    entry.version,
                    entry.rev,
                    entry.written_by.as_str(),
                    entry.written_at,
                    entry.tokens,
                    entry.expires_at,
                    access.as_deref(),
                    entry.access.by.as_str(),
                    value_sum,
                    sum,
                ],
            )
            .await?;
        Ok(())
    }

    pub async fn remove(&mut self, key: &Key) -> Result<()> {
        self.tx
            .execute(
                "DELETE FROM context_entries WHERE workspace = $1 AND session = $2 AND key = $3",
                params![self.workspace.as_str(), self.session.as_str(), key.as_str()],
            )
            .await?;
        Ok(())
    }
}
