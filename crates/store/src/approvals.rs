//! What people decide about calls.

use crate::rows::{Param, Row, columns, params};
use crate::sums;
use crate::{Error, Result, Tx};
use domain::approvals::{Approval, ApprovalStatus, Decided};
use domain::ids::{ApprovalId, ProjectId, ToolCallId, UserId, WorkspaceId};

pub struct Approvals<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT workspace, id, project, call, user_id, digest, status, requested_at, expires_at, decided_by,
                    decided_at, note, sum
               FROM approvals ",
            $rest
        )
    };
}

/// The same of what a person ($1) sees: their own, and if they decide for others ($2) what is done on shared machines.
macro_rules! seen {
    ($rest:literal) => {
        concat!(
            selected!(
                "WHERE workspace IN (SELECT workspace FROM members WHERE user_id = $1)
                   AND (user_id = $1 OR ($2 = 1 AND EXISTS (
                     SELECT 1 FROM tool_calls JOIN nodes ON nodes.workspace = tool_calls.workspace AND nodes.id = node
                      WHERE tool_calls.workspace = approvals.workspace AND tool_calls.project = approvals.project
                        AND tool_calls.id = approvals.call AND nodes.project IS NULL))) "
            ),
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<(WorkspaceId, Approval)> {
    let (workspace, id) = (WorkspaceId::from_trusted(row.text()?), ApprovalId::from_trusted(row.text()?));
    let (project, call) = (ProjectId::from_trusted(row.text()?), ToolCallId::from_trusted(row.text()?));
    let (user, digest) = (UserId::from_trusted(row.text()?), row.text()?);
    let status =
        ApprovalStatus::parse(&row.text()?).ok_or_else(|| Error::BadRow("the status of an approval".into()))?;
    let (requested_at, expires_at) = (row.time()?, row.time()?);
    let (by, at, note) = (row.optional_text()?.map(UserId::from_trusted), row.optional_time()?, row.optional_text()?);
    let decided = at.map(|at| Decided { by, at, note });
    let approval = Approval { id, project, call, user, digest, status, requested_at, expires_at, decided };
    sums::check(row.optional_integer()?, || sum(&workspace, &approval), "an approval")?;
    Ok((workspace, approval))
}

fn sum(workspace: &WorkspaceId, approval: &Approval) -> i64 {
    sums::of_row(&row(workspace, approval))
}

/// All columns but the sum, in the order of the table.
fn row<'a>(workspace: &'a WorkspaceId, approval: &'a Approval) -> [Param<'a>; 12] {
    let decided = approval.decided.as_ref();
    columns![
        workspace.as_str(),
        approval.id.as_str(),
        approval.project.as_str(),
        approval.call.as_str(),
        approval.user.as_str(),
        approval.digest.as_str(),
        approval.status.as_str(),
        approval.requested_at,
        approval.expires_at,
        decided.and_then(|decided| decided.by.as_ref()).map(UserId::as_str),
        decided.map(|decided| decided.at),
        decided.and_then(|decided| decided.note.as_deref()),
    ]
}

impl Approvals<'_> {
    pub async fn create(&mut self, approval: &Approval) -> Result<()> {
        let mut all = row(self.workspace, approval).to_vec();
        all.push(sum(self.workspace, approval).into());
        self.tx
            .execute(
                "INSERT INTO approvals (workspace, id, project, call, user_id, digest, status, requested_at, expires_at,
                                        decided_by, decided_at, note, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
                &all,
            )
            .await?;
        self.tx.approvals_moved();
        Ok(())
    }

    /// Writes how an approval ended, if nobody was faster; answers whether that is so.
    pub async fn end(&mut self, approval: &Approval) -> Result<bool> {
        let decided = approval.decided.as_ref();
        let changed = self
            .tx
            .execute(
                "UPDATE approvals SET status = $1, decided_by = $2, decided_at = $3, note = $4, sum = $5
                  WHERE workspace = $6 AND id = $7 AND status = 'pending'",
                params![
                    approval.status.as_str(),
                    decided.and_then(|decided| decided.by.as_ref()).map(UserId::as_str),
                    decided.map(|decided| decided.at),
                    decided.and_then(|decided| decided.note.as_deref()),
                    sum(self.workspace, approval),
                    self.workspace.as_str(),
                    approval.id.as_str(),
                ],
            )
            .await?;
        self.tx.approvals_moved();
        Ok(changed == 1)
    }

    pub async fn get(&mut self, id: &ApprovalId) -> Result<Option<Approval>> {
        let row = self
            .tx
            .query_one(selected!("WHERE workspace = $1 AND id = $2"), params![self.workspace.as_str(), id.as_str()])
            .await?;
        Ok(row.map(read).transpose()?.map(|(_, approval)| approval))
    }

    /// Removes the approvals of a project that goes.
    pub async fn delete_of_project(&mut self, project: &ProjectId) -> Result<u64> {
        self.tx.approvals_moved();
        self.tx
            .execute(
                "DELETE FROM approvals WHERE workspace = $1 AND project = $2",
                params![self.workspace.as_str(), project.as_str()],
            )
            .await
    }

    /// Removes the approvals of calls of a session that goes.
    pub async fn delete_of_session(&mut self, session: &domain::ids::SessionId) -> Result<u64> {
        self.tx.approvals_moved();
        self.tx
            .execute(
                "DELETE FROM approvals WHERE workspace = $1 AND call IN
                    (SELECT id FROM tool_calls WHERE workspace = $1 AND session = $2)",
                params![self.workspace.as_str(), session.as_str()],
            )
            .await
    }
}

/// Through memberships: the workspace is what is looked for.
impl Tx {
    /// The approvals of all workspaces that somebody is a member of, newest first, before an id; of one status, if one
    /// is named. `all`: also those for others, except on somebody's own machine.
    pub async fn approvals_seen_by(
        &mut self,
        (user, all): (&UserId, bool),
        status: Option<ApprovalStatus>,
        before: &str,
        limit: u64,
    ) -> Result<Vec<(WorkspaceId, Approval)>> {
        let rows = self
            .query(
                seen!(
                    "AND ($3 = '' OR id < $3) AND (CAST($4 AS TEXT) IS NULL OR status = $4)
                  ORDER BY id DESC LIMIT $5"
                ),
                params![user.as_str(), u64::from(all), before, status.map(ApprovalStatus::as_str), limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    pub async fn approval_seen_by(
        &mut self,
        (user, all): (&UserId, bool),
        id: &ApprovalId,
    ) -> Result<Option<(WorkspaceId, Approval)>> {
        let row = self.query_one(seen!("AND id = $3"), params![user.as_str(), u64::from(all), id.as_str()]).await?;
        row.map(read).transpose()
    }
}
