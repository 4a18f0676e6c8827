//! Frozen states of a session's shared context.

use crate::rows::{Row, params};
use crate::{Result, Tx, entries};
use domain::entries::Entry;
use domain::ids::{SessionId, WorkspaceId};
use domain::participants::Participant;
use domain::snapshots::{Label, Snapshot};
use domain::times::Timestamp;

pub struct Snapshots<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
    pub(crate) session: &'t SessionId,
}

/// Reads `label, taken_at, taken_by, rev, key_count, total_tokens`.
fn read(mut row: Row) -> Result<Snapshot> {
    Ok(Snapshot {
        label: Label::from_trusted(row.text()?),
        taken_at: row.time()?,
        taken_by: Participant::from_trusted(row.text()?),
        rev: row.count()?,
        key_count: row.count()?,
        total_size_tokens: row.count()?,
    })
}

impl Snapshots<'_> {
    pub async fn get(&mut self, label: &Label) -> Result<Option<Snapshot>> {
        let row = self
            .tx
            .query_one(
                "SELECT label, taken_at, taken_by, rev, key_count, total_tokens
                   FROM snapshots WHERE workspace = $1 AND session = $2 AND label = $3",
                params![self.workspace.as_str(), self.session.as_str(), label.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// All of them, oldest first.
    pub async fn all(&mut self) -> Result<Vec<Snapshot>> {
        let rows = self
            .tx
            .query(
                "SELECT label, taken_at, taken_by, rev, key_count, total_tokens
                   FROM snapshots WHERE workspace = $1 AND session = $2 ORDER BY rev, taken_at, label",
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
                "INSERT INTO snapshots (workspace, session, label, taken_at, taken_by, rev, key_count, total_tokens)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                params![
                    self.workspace.as_str(),
                    self.session.as_str(),
                    label,
                    snapshot.taken_at,
                    snapshot.taken_by.as_str(),
                    snapshot.rev,
                    snapshot.key_count,
                    snapshot.total_size_tokens,
                ],
            )
            .await?;
        self.tx
            .execute(
                "INSERT INTO snapshot_entries (workspace, session, label, key, value, version, rev, written_by,
                                               written_at, tokens, expires_at, access, created_by)
                 SELECT workspace, session, $1, key, value, version, rev, written_by, written_at, tokens,
                        expires_at, access, created_by
                   FROM context_entries
                  WHERE workspace = $2 AND session = $3 AND (expires_at IS NULL OR expires_at > $4)",
                params![label, self.workspace.as_str(), self.session.as_str(), now],
            )
            .await?;
        Ok(())
    }

    /// The entries as they were, in key order.
    pub async fn entries(&mut self, label: &Label) -> Result<Vec<Entry>> {
        let rows = self
            .tx
            .query(
                "SELECT key, value, version, rev, written_by, written_at, tokens, expires_at, access, created_by
                   FROM snapshot_entries WHERE workspace = $1 AND session = $2 AND label = $3 ORDER BY key",
                params![self.workspace.as_str(), self.session.as_str(), label.as_str()],
            )
            .await?;
        rows.into_iter().map(entries::read).collect()
    }
}
