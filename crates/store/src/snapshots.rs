//! Frozen states of a session's shared context.

use crate::entries::{self, Place};
use crate::rows::{Row, params, to_json};
use crate::sums::{self, Sum};
use crate::{Result, Tx};
use domain::entries::{Access, Entry};
use domain::ids::{SessionId, WorkspaceId};
use domain::keys::Key;
use domain::participants::{Participant, Patterns};
use domain::snapshots::{Label, Snapshot};
use domain::times::Timestamp;

pub struct Snapshots<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
    pub(crate) session: &'t SessionId,
}

/// An entry as it was, and who may read the key now if that changed since.
pub struct FrozenEntry {
    pub entry: Entry,
    pub later_readable_by: Option<Patterns>,
}

/// Reads `label, taken_at, taken_by, rev, key_count, total_tokens, sum`.
fn read(mut row: Row) -> Result<Snapshot> {
    let snapshot = Snapshot {
        label: Label::from_trusted(row.text()?),
        taken_at: row.time()?,
        taken_by: Participant::from_trusted(row.text()?),
        rev: row.count()?,
        key_count: row.count()?,
        total_size_tokens: row.count()?,
    };
    sums::check(row.optional_integer()?, || sum(&snapshot), "a snapshot")?;
    Ok(snapshot)
}

fn sum(snapshot: &Snapshot) -> i64 {
    Sum::default()
        .text(snapshot.label.as_str())
        .time(snapshot.taken_at)
        .text(snapshot.taken_by.as_str())
        .count(snapshot.rev)
        .count(snapshot.key_count)
        .count(snapshot.total_size_tokens)
        .finish()
}

impl Snapshots<'_> {
    pub async fn get(&mut self, label: &Label) -> Result<Option<Snapshot>> {
        let row = self
            .tx
            .query_one(
                "SELECT label, taken_at, taken_by, rev, key_count, total_tokens, sum
                   FROM snapshots WHERE workspace = $1 AND session = $2 AND label = $3",
                params![self.workspace.as_str(), self.session.as_str(), label.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// All that somebody took, oldest first.
    pub async fn all(&mut self) -> Result<Vec<Snapshot>> {
        let rows = self
            .tx
            .query(
                "SELECT label, taken_at, taken_by, rev, key_count, total_tokens, sum
                   FROM snapshots WHERE workspace = $1 AND session = $2 AND label NOT LIKE '~%'
                  ORDER BY rev, taken_at, label",
                params![self.workspace.as_str(), self.session.as_str()],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Freezes what is live at `now` under the snapshot's label.
    pub async fn take(&mut self, snapshot: &Snapshot, now: Timestamp) -> Result<()> {
        let label = snapshot.label.as_str();
        self.tx
            .execute(
                "INSERT INTO snapshots (workspace, session, label, taken_at, taken_by, rev, key_count, total_tokens,
                                        sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                params![
                    self.workspace.as_str(),
                    self.session.as_str(),
                    label,
                    snapshot.taken_at,
                    snapshot.taken_by.as_str(),
                    snapshot.rev,
                    snapshot.key_count,
                    snapshot.total_size_tokens,
                    sum(snapshot),
                ],
            )
            .await?;
        self.tx
            .execute(
                "INSERT INTO snapshot_entries (workspace, session, label, key, value, version, rev, written_by,
                                               written_at, tokens, expires_at, access, created_by, value_sum, sum)
                 SELECT workspace, session, $1, key, value, version, rev, written_by, written_at, tokens,
                        expires_at, access, created_by, value_sum, sum
                   FROM context_entries
                  WHERE workspace = $2 AND session = $3 AND (expires_at IS NULL OR expires_at > $4)",
                params![label, self.workspace.as_str(), self.session.as_str(), now],
            )
            .await?;
        Ok(())
    }

    /// Notes the lists that a key has from now on beside every snapshot of it.
    pub async fn guard(&mut self, key: &Key, access: &Access) -> Result<()> {
        let lists = to_json(&(&access.readable_by, &access.writable_by))?;
        self.tx
            .execute(
                "UPDATE snapshot_entries SET later_access = $1 WHERE workspace = $2 AND session = $3 AND key = $4",
                params![lists.as_str(), self.workspace.as_str(), self.session.as_str(), key.as_str()],
            )
            .await?;
        Ok(())
    }

    /// Forgets all but so many of those that the house took by itself.
    pub async fn keep_newest_of_house(&mut self, most: u64) -> Result<()> {
        for statement in [
            "DELETE FROM snapshot_entries WHERE workspace = $1 AND session = $2 AND label IN (
               SELECT label FROM snapshots WHERE workspace = $1 AND session = $2 AND label LIKE '~%'
                ORDER BY rev DESC LIMIT 1000 OFFSET $3)",
            "DELETE FROM snapshots WHERE workspace = $1 AND session = $2 AND label IN (
               SELECT label FROM snapshots WHERE workspace = $1 AND session = $2 AND label LIKE '~%'
                ORDER BY rev DESC LIMIT 1000 OFFSET $3)",
        ] {
            self.tx.execute(statement, params![self.workspace.as_str(), self.session.as_str(), most]).await?;
        }
        Ok(())
    }

    /// The entries as they were, in key order.
    pub async fn entries(&mut self, label: &Label) -> Result<Vec<FrozenEntry>> {
        let rows = self
            .tx
            .query(
                "SELECT later_access, key, value, version, rev, written_by, written_at, tokens, expires_at, access,
                        created_by, value_sum, sum
                   FROM snapshot_entries WHERE workspace = $1 AND session = $2 AND label = $3 ORDER BY key",
                params![self.workspace.as_str(), self.session.as_str(), label.as_str()],
            )
            .await?;
        let place = Place { workspace: self.workspace, session: self.session };
        let frozen = |mut row: Row| {
            let later: Option<(Patterns, Patterns)> = row.optional_json()?;
            let entry = entries::read(row, place)?;
            Ok(FrozenEntry { later_readable_by: later.map(|(readable_by, _)| readable_by), entry })
        };
        rows.into_iter().map(frozen).collect()
    }
}

/// What the house froze by itself.
impl Tx {
    /// Forgets snapshots that were taken before a time for people who were asked; answers how many there were.
    pub async fn purge_snapshots_of_house(&mut self, before: Timestamp, limit: u64) -> Result<u64> {
        let rows = self
            .query(
                "SELECT workspace, session, label FROM snapshots WHERE label LIKE '~%' AND taken_at < $1 LIMIT $2",
                params![before, limit],
            )
            .await?;
        let read = |mut row: Row| Ok((row.text()?, row.text()?, row.text()?));
        let found: Vec<(String, String, String)> = rows.into_iter().map(read).collect::<Result<_>>()?;
        for (workspace, session, label) in &found {
            let place = params![workspace.as_str(), session.as_str(), label.as_str()];
            self.execute("DELETE FROM snapshot_entries WHERE workspace = $1 AND session = $2 AND label = $3", place)
                .await?;
            self.execute("DELETE FROM snapshots WHERE workspace = $1 AND session = $2 AND label = $3", place).await?;
        }
        Ok(found.len() as u64)
    }
}
