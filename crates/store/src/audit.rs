//! The audit log: one chain of hashes per workspace.
//!
//! Rows are gathered while a transaction runs and are sealed, numbered and written just before it commits, so that
//! the head of a chain is read once for all operations that share the commit. No audit, no action: if a row cannot
//! be written, nothing of the transaction is.

use crate::connection::Insert;
use crate::rows::{Param, Row, columns, params};
use crate::{Result, Tx};
use data_encoding::HEXLOWER;
use domain::audit::{AuditRecord, AuditRow};
use domain::ids::WorkspaceId;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub struct Audit<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

pub(crate) struct PendingAudit {
    workspace: WorkspaceId,
    record: AuditRecord,
}

/// The first place where a chain does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainFault {
    pub workspace: String,
    pub seq: u64,
    pub reason: &'static str,
}

impl Audit<'_> {
    pub fn append(&mut self, record: AuditRecord) {
        self.tx.audit.push(PendingAudit { workspace: self.workspace.clone(), record });
    }
}

/// The hash of a row is over its predecessor's hash and every field, each with its length, so that no two rows
/// have the same text.
fn seal(previous: &str, row: &AuditRow) -> String {
    let mut hasher = Sha256::new();
    let (seq, at) = (row.seq.to_string(), row.at.as_ms().to_string());
    // No session and one without a name are not the same.
    let session = row.session.as_ref().map_or_else(|| "-".to_owned(), |session| format!("+{session}"));
    let fields = [previous, &row.workspace, &seq, &at, &row.user, &row.participant, &row.action, &session, &row.detail];
    for field in fields {
        hasher.update((field.len() as u64).to_be_bytes());
        hasher.update(field.as_bytes());
    }
    HEXLOWER.encode(&hasher.finalize())
}

const INSERT: Insert = Insert {
    one_by_one: "INSERT INTO audit (workspace, seq, at, user_id, participant, action, session, detail, hash)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    at_once: "INSERT INTO audit (workspace, seq, at, user_id, participant, action, session, detail, hash)
              SELECT * FROM UNNEST($1::TEXT[], $2::BIGINT[], $3::BIGINT[], $4::TEXT[], $5::TEXT[], $6::TEXT[],
                                   $7::TEXT[], $8::TEXT[], $9::TEXT[]) RETURNING seq",
};

fn columns_of(row: &AuditRow) -> [Param<'_>; 9] {
    columns![
        row.workspace.as_str(),
        row.seq,
        row.at,
        row.user.as_str(),
        row.participant.as_str(),
        row.action.as_str(),
        row.session.as_deref(),
        row.detail.as_str(),
        row.hash.as_str(),
    ]
}

fn read(mut row: Row) -> Result<AuditRow> {
    Ok(AuditRow {
        workspace: row.text()?,
        seq: row.count()?,
        at: row.time()?,
        user: row.text()?,
        participant: row.text()?,
        action: row.text()?,
        session: row.optional_text()?,
        detail: row.text()?,
        hash: row.text()?,
    })
}

impl Tx {
    /// Writes the gathered audit rows. Called once, just before a commit.
    pub(crate) async fn seal_audit(&mut self) -> Result<()> {
        if self.audit.is_empty() {
            return Ok(());
        }
        let mut heads: BTreeMap<WorkspaceId, (u64, String)> = BTreeMap::new();
        let mut rows = Vec::with_capacity(self.audit.len());
        for pending in std::mem::take(&mut self.audit) {
            let (seq, previous) = match heads.remove(&pending.workspace) {
                Some(head) => head,
                None => self.audit_head(pending.workspace.as_str()).await?,
            };
            let row = pending.into_row(seq + 1, &previous);
            heads.insert(WorkspaceId::from_trusted(row.workspace.clone()), (row.seq, row.hash.clone()));
            rows.push(row);
        }
        // The heads first: whoever else moved one meanwhile is noticed here.
        for (workspace, (seq, hash)) in heads {
            self.execute(
                "INSERT INTO audit_heads (workspace, seq, hash) VALUES ($1, $2, $3)
                 ON CONFLICT (workspace) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
                params![workspace.as_str(), seq, hash.as_str()],
            )
            .await?;
        }
        let rows: Vec<_> = rows.iter().map(columns_of).collect();
        self.insert(&INSERT, &rows).await?;
        Ok(())
    }

    async fn audit_head(&mut self, workspace: &str) -> Result<(u64, String)> {
        let row = self.query_one("SELECT seq, hash FROM audit_heads WHERE workspace = $1", params![workspace]).await?;
        row.map_or(Ok((0, String::new())), |mut row| Ok((row.count()?, row.text()?)))
    }

    /// Audit rows of every chain, or of one, in order of chain and number.
    pub async fn audit_page(
        &mut self,
        workspace: Option<&str>,
        after: (&str, u64),
        limit: u64,
    ) -> Result<Vec<AuditRow>> {
        let rows = self
            .query(
                "SELECT workspace, seq, at, user_id, participant, action, session, detail, hash FROM audit
                  WHERE (CAST($1 AS TEXT) IS NULL OR workspace = $1) AND (workspace, seq) > ($2, $3)
                  ORDER BY workspace, seq LIMIT $4",
                params![workspace, after.0, after.1, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Checks a page of the chains. Give back what it returns until it returns no more.
    pub async fn verify_audit(&mut self, at: ChainPosition, limit: u64) -> Result<(ChainPosition, Option<ChainFault>)> {
        let rows = self.audit_page(None, (&at.workspace, at.seq), limit).await?;
        let mut position = ChainPosition { done: rows.is_empty(), ..at };
        for row in rows {
            if row.workspace != position.workspace {
                if let Some(fault) = self.check_head(&position).await? {
                    return Ok((position, Some(fault)));
                }
                let (workspace, rows) = (row.workspace.clone(), position.rows);
                position = ChainPosition { workspace, rows, ..ChainPosition::default() };
            }
            let fault = |reason| ChainFault { workspace: row.workspace.clone(), seq: row.seq, reason };
            if row.seq != position.seq + 1 {
                return Ok((position.clone(), Some(fault("a row is missing before this one"))));
            }
            if seal(&position.hash, &row) != row.hash {
                return Ok((position.clone(), Some(fault("the row or its hash was changed"))));
            }
            (position.seq, position.hash) = (row.seq, row.hash);
            position.rows += 1;
        }
        let fault = if position.done { self.check_head(&position).await? } else { None };
        Ok((position, fault))
    }

    /// The end of a chain must be the head that was recorded, or its last rows are missing.
    async fn check_head(&mut self, position: &ChainPosition) -> Result<Option<ChainFault>> {
        if position.workspace.is_empty() {
            return Ok(None);
        }
        let (seq, hash) = self.audit_head(&position.workspace).await?;
        let holds = seq == position.seq && hash == position.hash;
        Ok((!holds).then(|| ChainFault {
            workspace: position.workspace.clone(),
            seq: position.seq + 1,
            reason: "rows are missing at the end",
        }))
    }

    /// Chains whose rows are all gone although a head was recorded.
    pub async fn emptied_chains(&mut self) -> Result<Vec<ChainFault>> {
        let rows = self
            .query(
                "SELECT h.workspace FROM audit_heads h
                  WHERE NOT EXISTS (SELECT 1 FROM audit a WHERE a.workspace = h.workspace)",
                params![],
            )
            .await?;
        rows.into_iter()
            .map(|mut row| Ok(ChainFault { workspace: row.text()?, seq: 1, reason: "every row is missing" }))
            .collect()
    }
}

/// Where a verification has got to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainPosition {
    workspace: String,
    seq: u64,
    hash: String,
    /// How many rows have been checked so far.
    pub rows: u64,
    pub done: bool,
}

impl PendingAudit {
    fn into_row(self, seq: u64, previous: &str) -> AuditRow {
        let record = self.record;
        let mut row = AuditRow {
            workspace: self.workspace.as_str().to_owned(),
            seq,
            at: record.at,
            user: record.user.as_str().to_owned(),
            participant: record.participant.as_str().to_owned(),
            action: record.action.to_owned(),
            session: record.session.map(|session| session.as_str().to_owned()),
            detail: serde_json::Value::Object(record.detail).to_string(),
            hash: String::new(),
        };
        row.hash = seal(previous, &row);
        row
    }
}
