//! What people are told in channels about approvals.

use crate::rows::{Param, Row, columns, from_json, params, to_json};
use crate::sums;
use crate::{Error, Result, Tx};
use domain::deliveries::DeliveryTarget;
use domain::ids::{ApprovalId, ProjectId, UserId, WorkspaceId};
use domain::notices::{Notice, NoticeKind, NoticeStatus, Tries};
use domain::times::Timestamp;
use domain::workspaces::Identity;

pub struct Notices<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// An approval that waits for somebody who has an account with a channel and was not told there.
#[derive(Debug, Clone)]
pub struct Untold {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub approval: ApprovalId,
    pub user: UserId,
    pub identity: Identity,
    /// The message that began the turn, if one of a channel did.
    pub origin: Option<DeliveryTarget>,
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT n.workspace, n.approval, n.channel, n.identity, n.kind, n.project, n.user_id, n.origin, n.told,
                    n.status, n.attempts, n.next_at, n.last_error, n.created_at, n.ended_at, n.sum
               FROM notices n ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<Notice> {
    let (workspace, approval) = (WorkspaceId::from_trusted(row.text()?), ApprovalId::from_trusted(row.text()?));
    let identity = Identity { channel: row.text()?, id: row.text()? };
    let kind = NoticeKind::parse(&row.text()?).ok_or_else(|| Error::BadRow("the kind of a notice".into()))?;
    let (project, user) = (ProjectId::from_trusted(row.text()?), UserId::from_trusted(row.text()?));
    let stored = Stored { origin: row.optional_text()?, told: row.optional_text()? };
    let notice = Notice {
        workspace,
        project,
        approval,
        user,
        identity,
        kind,
        origin: stored.origin.as_deref().map(from_json).transpose()?,
        told: stored.told.as_deref().map(from_json).transpose()?,
        status: NoticeStatus::parse(&row.text()?).ok_or_else(|| Error::BadRow("the status of a notice".into()))?,
        tries: Tries { attempts: row.count()?, next_at: row.time()?, last_error: row.optional_text()? },
        created_at: row.time()?,
        ended_at: row.optional_time()?,
    };
    sums::check(row.optional_integer()?, || sums::of_row(&columns_of(&notice, &stored)), "a notice")?;
    Ok(notice)
}

/// What is kept as JSON, as it is kept.
struct Stored {
    origin: Option<String>,
    told: Option<String>,
}

impl Stored {
    fn of(notice: &Notice) -> Result<Self> {
        let origin = notice.origin.as_ref().map(to_json).transpose()?;
        Ok(Self { origin, told: notice.told.as_ref().map(to_json).transpose()? })
    }
}

/// All columns but the sum, in the order of the table.
fn columns_of<'a>(notice: &'a Notice, stored: &'a Stored) -> [Param<'a>; 15] {
    columns![
        notice.workspace.as_str(),
        notice.approval.as_str(),
        notice.identity.channel.as_str(),
        notice.identity.id.as_str(),
        notice.kind.as_str(),
        notice.project.as_str(),
        notice.user.as_str(),
        stored.origin.as_deref(),
        stored.told.as_deref(),
        notice.status.as_str(),
        notice.tries.attempts,
        notice.tries.next_at,
        notice.tries.last_error.as_deref(),
        notice.created_at,
        notice.ended_at,
    ]
}

impl Notices<'_> {
    /// Puts down what is owed, unless it is known already.
    pub async fn create(&mut self, notice: &Notice) -> Result<()> {
        let stored = Stored::of(notice)?;
        let columns = columns_of(notice, &stored);
        let mut all = columns.to_vec();
        all.push(sums::of_row(&columns).into());
        self.tx
            .execute(
                "INSERT INTO notices (workspace, approval, channel, identity, kind, project, user_id, origin, told,
                                      status, attempts, next_at, last_error, created_at, ended_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
                 ON CONFLICT DO NOTHING",
                &all,
            )
            .await?;
        Ok(())
    }

    /// Writes how a notice stands now, if it was not over; answers whether that is so.
    pub async fn advance(&mut self, notice: &Notice) -> Result<bool> {
        let stored = Stored::of(notice)?;
        let changed = self
            .tx
            .execute(
                "UPDATE notices SET told = $1, status = $2, attempts = $3, next_at = $4, last_error = $5, ended_at = $6,
                                    sum = $7
                  WHERE workspace = $8 AND approval = $9 AND channel = $10 AND identity = $11 AND kind = $12
                    AND ended_at IS NULL",
                params![
                    stored.told.as_deref(),
                    notice.status.as_str(),
                    notice.tries.attempts,
                    notice.tries.next_at,
                    notice.tries.last_error.as_deref(),
                    notice.ended_at,
                    sums::of_row(&columns_of(notice, &stored)),
                    self.workspace.as_str(),
                    notice.approval.as_str(),
                    notice.identity.channel.as_str(),
                    notice.identity.id.as_str(),
                    notice.kind.as_str(),
                ],
            )
            .await?;
        Ok(changed == 1)
    }

    /// All that was or is to be said about one approval.
    pub async fn of(&mut self, approval: &ApprovalId) -> Result<Vec<Notice>> {
        let rows = self
            .tx
            .query(
                selected!("WHERE n.workspace = $1 AND n.approval = $2 ORDER BY n.channel, n.identity, n.kind"),
                params![self.workspace.as_str(), approval.as_str()],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }
}

/// The house's own view, for what it does by itself and shows to those who run it.
impl Tx {
    /// What waits for somebody who could be told in this channel and was not: at once if its turn came from a channel, else
    /// if it was asked for before `patient_until`.
    pub async fn approvals_untold(
        &mut self,
        channel: &str,
        (now, patient_until): (Timestamp, Timestamp),
        limit: u64,
    ) -> Result<Vec<Untold>> {
        let rows = self
            .query(
                "SELECT a.workspace, a.project, a.id, a.user_id, i.channel, i.id, d.target
                   FROM approvals a
                   JOIN identities i ON i.user_id = a.user_id
                   LEFT JOIN tool_calls c ON c.workspace = a.workspace AND c.project = a.project AND c.id = a.call
                   LEFT JOIN deliveries d ON d.workspace = a.workspace AND d.project = a.project AND d.task = c.task
                  WHERE a.status = 'pending' AND i.channel = $1 AND a.expires_at > $2
                    AND (d.target IS NOT NULL OR a.requested_at <= $3)
                    AND NOT EXISTS (SELECT n.approval FROM notices n
                                     WHERE n.workspace = a.workspace AND n.approval = a.id AND n.channel = i.channel
                                       AND n.identity = i.id AND n.kind = 'direct')
                  ORDER BY a.requested_at, a.id, i.channel, i.id LIMIT $4",
                params![channel, now, patient_until, limit],
            )
            .await?;
        rows.into_iter().map(read_untold).collect()
    }

    /// What can be done now in a channel: told, or concluded because it is over or gone.
    pub async fn notices_due(&mut self, channel: &str, now: Timestamp, limit: u64) -> Result<Vec<Notice>> {
        let rows = self
            .query(
                selected!(
                    "LEFT JOIN approvals a ON a.workspace = n.workspace AND a.id = n.approval
                  WHERE n.ended_at IS NULL AND n.channel = $1 AND n.next_at <= $2
                    AND (n.status = 'owed' OR a.id IS NULL OR a.status <> 'pending')
                  ORDER BY n.next_at, n.approval, n.kind LIMIT $3"
                ),
                params![channel, now, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// What is in trouble: tried in vain, or given up. Newest first.
    pub async fn notices_in_trouble(&mut self, limit: u64) -> Result<Vec<Notice>> {
        let rows = self
            .query(
                selected!(
                    "WHERE (n.ended_at IS NULL AND n.last_error IS NOT NULL) OR n.status = 'failed'
                  ORDER BY n.created_at DESC, n.approval, n.channel, n.identity, n.kind LIMIT $1"
                ),
                params![limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    pub async fn purge_notices(&mut self, before: Timestamp, limit: u64) -> Result<u64> {
        self.execute(
            "DELETE FROM notices WHERE (workspace, approval, channel, identity, kind) IN
               (SELECT workspace, approval, channel, identity, kind FROM notices
                 WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
            params![before, limit],
        )
        .await
    }
}

fn read_untold(mut row: Row) -> Result<Untold> {
    Ok(Untold {
        workspace: WorkspaceId::from_trusted(row.text()?),
        project: ProjectId::from_trusted(row.text()?),
        approval: ApprovalId::from_trusted(row.text()?),
        user: UserId::from_trusted(row.text()?),
        identity: Identity { channel: row.text()?, id: row.text()? },
        origin: row.optional_json()?,
    })
}
