//! Tasks that run for longer than any should: given up, told, and their workers stopped.

use super::recovery::{Place, fail};
use crate::worker_spaces::{self, alerts};
use crate::{Error, House, Result};
use domain::tasks::{RUNNING_LONGEST_S, TaskStatus, overdue};
use domain::times::Timestamp;
use domain::worker_spaces::Alert;
use std::time::Duration;
use store::{Operation, QueuedFor, Tx};

const ENDED_AT_ONCE: u64 = 64;
const AFTER_FAILURE: Duration = Duration::from_secs(60);
const A_LITTLE: Duration = Duration::from_millis(10);

/// Runs until it is dropped.
pub async fn end_overdue_tasks(house: &House) {
    loop {
        let pause = match end_overdue_tasks_once(house).await {
            // A task that begins now is overdue no sooner than this.
            Ok(next) => next.unwrap_or(Duration::from_secs(RUNNING_LONGEST_S)),
            Err(_) if house.authority().is_closing() => return,
            Err(error) => {
                tracing::warn!(%error, "overdue tasks could not be ended yet");
                AFTER_FAILURE
            }
        };
        tokio::time::sleep(pause + A_LITTLE).await;
    }
}

/// Ends what is overdue; answers how long it is until there is more to do.
pub async fn end_overdue_tasks_once(house: &House) -> Result<Option<Duration>> {
    loop {
        let now = house.now();
        let (due, next) = house.store().read(Due { now }).await?;
        if due.is_empty() {
            return Ok(next.map(|at| Duration::from_millis(u64::try_from(at.as_ms() - now.as_ms()).unwrap_or(0))));
        }
        let mut ended = 0;
        for place in due {
            let workspace = place.0.clone();
            let Some(task) = fail(house, place, &[TaskStatus::Running], overdue()).await? else { continue };
            ended += 1;
            house.bus().stop(&task.id);
            // Its place is free, and nobody may be there to notice.
            worker_spaces::wake_surely(house, QueuedFor::of(&workspace, &task)).await;
            let text = format!("a task of {} ran past its deadline and was given up", task.agent.name);
            alerts::raise(house, &workspace, &task.project, Alert::TaskOverdue, task.id.as_str(), &text).await;
        }
        if ended == 0 {
            // Rows that cannot be ended would be found again at once, and for ever.
            return Ok(Some(AFTER_FAILURE));
        }
    }
}

struct Due {
    now: Timestamp,
}

impl Operation for Due {
    type Output = (Vec<Place>, Option<Timestamp>);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        Ok((tx.tasks_overdue(self.now, ENDED_AT_ONCE).await?, tx.next_task_deadline().await?))
    }
}
