//! The live keys of one session's shared context.

use crate::rows::{Param, Row, params, to_json};
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

/// Reads `access, created_by`: no lists stored means open ones.
pub(crate) fn read_access(row: &mut Row) -> Result<Access> {
    let lists: Option<(Patterns, Patterns)> = row.optional_json()?;
    let by = Participant::from_trusted(row.text()?);
    Ok(match lists {
        Some((readable_by, writable_by)) => Access { readable_by, writable_by, by },
        None => Access::open(by),
    })
}

pub(crate) fn access_json(access: &Access) -> Result<Option<String>> {
    let everybody = Patterns::everybody();
    if access.readable_by == everybody && access.writable_by == everybody {
        return Ok(None);
    }
    to_json(&(&access.readable_by, &access.writable_by)).map(Some)
}

/// Reads `key, value, version, rev, written_by, written_at, tokens, expires_at, access, created_by`.
pub(crate) fn read(mut row: Row) -> Result<Entry> {
    Ok(Entry {
        key: Key::from_trusted(row.text()?),
        value: row.text()?,
        version: row.count()?,
        rev: row.count()?,
        written_by: Participant::from_trusted(row.text()?),
        written_at: row.time()?,
        tokens: row.count()?,
        expires_at: row.optional_time()?,
        access: read_access(&mut row)?,
    })
}

impl Entries<'_> {
    async fn select(&mut self, sql: &'static str, extra: &[Param<'_>]) -> Result<Vec<Entry>> {
        let mut all = vec![Param::from(self.workspace.as_str()), Param::from(self.session.as_str())];
        all.extend_from_slice(extra);
        self.tx.query(sql, &all).await?.into_iter().map(read).collect()
    }

    /// The stored entry, expired or not.
    pub async fn get(&mut self, key: &Key) -> Result<Option<Entry>> {
        let found = self
            .select(
                "SELECT key, value, version, rev, written_by, written_at, tokens, expires_at, access, created_by
                   FROM context_entries WHERE workspace = $1 AND session = $2 AND key = $3",
                params![key.as_str()],
            )
            .await?;
        Ok(found.into_iter().next())
    }

    /// Every stored entry, in key order.
    pub async fn all(&mut self) -> Result<Vec<Entry>> {
        self.select(
            "SELECT key, value, version, rev, written_by, written_at, tokens, expires_at, access, created_by
               FROM context_entries WHERE workspace = $1 AND session = $2 ORDER BY key",
            &[],
        )
        .await
    }

    /// Every stored entry without its value, in key order.
    pub async fn all_without_values(&mut self) -> Result<Vec<Entry>> {
        self.select(
            "SELECT key, '', version, rev, written_by, written_at, tokens, expires_at, access, created_by
               FROM context_entries WHERE workspace = $1 AND session = $2 ORDER BY key",
            &[],
        )
        .await
    }

    /// What has expired by `now`, oldest first.
    pub async fn expired(&mut self, now: Timestamp) -> Result<Vec<Entry>> {
        self.select(
            "SELECT key, '', version, rev, written_by, written_at, tokens, expires_at, access, created_by
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
        self.tx
            .execute(
                "INSERT INTO context_entries (workspace, session, key, value, version, rev, written_by, written_at,
                                              tokens, expires_at, access, created_by)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
                 ON CONFLICT (workspace, session, key) DO UPDATE SET
                   value = excluded.value, version = excluded.version, rev = excluded.rev,
                   written_by = excluded.written_by, written_at = excluded.written_at, tokens = excluded.tokens,
                   expires_at = excluded.expires_at, access = excluded.access, created_by = excluded.created_by",
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
