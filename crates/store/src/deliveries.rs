//! Answers that are owed to places of channels.

use crate::rows::{Param, Row, columns, from_json, params, to_json};
use crate::sums;
use crate::{Error, Result, Tx};
use domain::deliveries::{Delivery, DeliveryStatus};
use domain::ids::{ProjectId, TaskId, UserId, WorkspaceId};
use domain::times::Timestamp;

pub struct Deliveries<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT d.workspace, d.id, d.target, d.user_id, d.project, d.task, d.status, d.attempts, d.next_at,
                    d.last_error, d.created_at, d.ended_at, d.sum
               FROM deliveries d ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<Delivery> {
    let (workspace, id) = (WorkspaceId::from_trusted(row.text()?), row.text()?);
    let stored_target = row.text()?;
    let delivery = Delivery {
        workspace,
        id,
        target: from_json(&stored_target)?,
        user: UserId::from_trusted(row.text()?),
        project: ProjectId::from_trusted(row.text()?),
        task: TaskId::from_trusted(row.text()?),
        status: DeliveryStatus::parse(&row.text()?).ok_or_else(|| Error::BadRow("the status of a delivery".into()))?,
        attempts: row.count()?,
        next_at: row.time()?,
        last_error: row.optional_text()?,
        created_at: row.time()?,
        ended_at: row.optional_time()?,
    };
    let place = delivery.target.place.as_key();
    let made = || sums::of_row(&columns_of(&delivery, &place, &stored_target));
    sums::check(row.optional_integer()?, made, "a delivery")?;
    Ok(delivery)
}

/// All columns but the sum, in the order of the table.
fn columns_of<'a>(delivery: &'a Delivery, place: &'a str, target: &'a str) -> [Param<'a>; 13] {
    columns![
        delivery.workspace.as_str(),
        delivery.id.as_str(),
        place,
        target,
        delivery.user.as_str(),
        delivery.project.as_str(),
        delivery.task.as_str(),
        delivery.status.as_str(),
        delivery.attempts,
        delivery.next_at,
        delivery.last_error.as_deref(),
        delivery.created_at,
        delivery.ended_at,
    ]
}

impl Deliveries<'_> {
    pub async fn create(&mut self, delivery: &Delivery) -> Result<()> {
        let (place, target) = (delivery.target.place.as_key(), to_json(&delivery.target)?);
        let columns = columns_of(delivery, &place, &target);
        let mut all = columns.to_vec();
        all.push(sums::of_row(&columns).into());
        self.tx
            .execute(
                "INSERT INTO deliveries (workspace, id, place, target, user_id, project, task, status, attempts,
                                         next_at, last_error, created_at, ended_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                &all,
            )
            .await?;
        Ok(())
    }

    /// Writes how a delivery stands now, if it is still owed; answers whether it was.
    pub async fn advance(&mut self, delivery: &Delivery) -> Result<bool> {
        let (place, target) = (delivery.target.place.as_key(), to_json(&delivery.target)?);
        let changed = self
            .tx
            .execute(
                "UPDATE deliveries SET target = $1, status = $2, attempts = $3, next_at = $4, last_error = $5,
                                       ended_at = $6, sum = $7
                  WHERE workspace = $8 AND id = $9 AND ended_at IS NULL",
                params![
                    target.as_str(),
                    delivery.status.as_str(),
                    delivery.attempts,
                    delivery.next_at,
                    delivery.last_error.as_deref(),
                    delivery.ended_at,
                    sums::of_row(&columns_of(delivery, &place, &target)),
                    self.workspace.as_str(),
                    delivery.id.as_str(),
                ],
            )
            .await?;
        Ok(changed == 1)
    }
}

/// The house's own view, for what it does by itself and shows to those who run it.
impl Tx {
    /// What is owed in a channel and can be sent now, because its turn is over or its task is gone; in each place in order. A
    /// place in which something waits for its time waits as a whole.
    pub async fn deliveries_ready(&mut self, channel: &str, now: Timestamp, limit: u64) -> Result<Vec<Delivery>> {
        let places = format!("{channel}:%");
        let rows = self
            .query(
                selected!(
                    "LEFT JOIN tasks t ON t.workspace = d.workspace AND t.project = d.project AND t.id = d.task
                  WHERE d.ended_at IS NULL AND d.place LIKE $1 AND (t.id IS NULL OR t.ended_at IS NOT NULL)
                    AND NOT EXISTS (SELECT w.id FROM deliveries w
                                     WHERE w.place = d.place AND w.ended_at IS NULL AND w.next_at > $2)
                  ORDER BY d.place, d.id LIMIT $3"
                ),
                params![places.as_str(), now, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// What is in trouble: tried in vain, or given up. Newest first.
    pub async fn deliveries_in_trouble(&mut self, limit: u64) -> Result<Vec<Delivery>> {
        let rows = self
            .query(
                selected!(
                    "WHERE (d.ended_at IS NULL AND d.last_error IS NOT NULL) OR d.status = 'failed'
                  ORDER BY d.created_at DESC, d.id LIMIT $1"
                ),
                params![limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    pub async fn purge_deliveries(&mut self, before: Timestamp, limit: u64) -> Result<u64> {
        self.execute(
            "DELETE FROM deliveries WHERE (workspace, id) IN
               (SELECT workspace, id FROM deliveries WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
            params![before, limit],
        )
        .await
    }
}
