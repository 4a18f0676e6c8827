//! Writing: the jobs of one line in one transaction, run again when others got in between.

use super::{Connection, PgSession, Postgres, in_time};
use crate::jobs::{Job, run_in_savepoint, run_plainly};
use crate::{Error, Result, Tx};
use domain::ids::WorkspaceId;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Jobs of one transaction: more, and PostgreSQL no longer remembers single rows that were read but whole tables.
const JOBS_PER_COMMIT: usize = 16;
/// How long a batch is tried again.
const TRIED_FOR: Duration = Duration::from_secs(10);
const PAUSE_LONGEST: Duration = Duration::from_millis(50);
const BEGIN: &str = "BEGIN ISOLATION LEVEL SERIALIZABLE";

/// Why a batch was not committed.
enum Failure {
    /// Nothing of it happened.
    Nothing(Error),
    /// The answer to the commit did not arrive: it may have happened.
    Unknown(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Nothing(error)
    }
}

impl Postgres {
    /// Serves the line of one workspace until it is empty.
    pub(super) async fn serve(self: Arc<Self>, workspace: WorkspaceId) {
        let line = self.lines.serving(workspace);
        loop {
            let turn = self.writers.turn().await;
            let jobs = line.take(JOBS_PER_COMMIT);
            if jobs.is_empty() {
                return;
            }
            match turn {
                _ if self.is_failed() => fail_all(jobs, &self.shared.condition().refusal()),
                Ok(turn) => self.commit(jobs, &turn).await,
                Err(error) => fail_all(jobs, &error),
            }
        }
    }

    /// Commits a batch, tells everybody. What failed is told too.
    async fn commit(self: &Arc<Self>, mut jobs: Vec<Box<dyn Job>>, turn: &tokio::sync::SemaphorePermit<'_>) {
        let started = Instant::now();
        let mut tries = 0;
        loop {
            let failure = match self.try_commit(&mut jobs, turn).await {
                Ok(mut tx) => {
                    self.shared.committed(jobs.len(), started.elapsed(), tx.told());
                    jobs.into_iter().for_each(|job| job.acknowledge());
                    self.keep(tx);
                    return;
                }
                Err(failure) => failure,
            };
            let again = match &failure {
                Failure::Nothing(error) if started.elapsed() < TRIED_FOR => {
                    error.is_conflict() || (error.is_lost() && self.reconnect().await.is_ok())
                }
                _ => false,
            };
            if !again {
                return self.give_up(jobs, failure);
            }
            tries += 1;
            self.shared.figures.retries.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(pause(tries)).await;
        }
    }

    fn give_up(self: &Arc<Self>, jobs: Vec<Box<dyn Job>>, failure: Failure) {
        let error = match failure {
            Failure::Nothing(error) => error,
            Failure::Unknown(error) => Error::Lost(format!("at the commit, which may have happened: {error}")),
        };
        tracing::error!(%error, jobs = jobs.len(), "a commit failed; nothing of it is acknowledged");
        if error.is_full() {
            self.shared.failed(&error);
        }
        fail_all(jobs, &self.lost(&error));
    }

    /// One try. The transaction comes back committed, or its connection is closed or rolled back.
    async fn try_commit(
        &self,
        jobs: &mut [Box<dyn Job>],
        turn: &tokio::sync::SemaphorePermit<'_>,
    ) -> Result<Tx, Failure> {
        let mut tx = Tx::on(Connection::postgres(self.writers.take(turn).await?));
        match in_time(fill(&mut tx, jobs)).await {
            Ok(()) => {}
            Err(error) => {
                if !error.is_lost() && in_time(tx.control("ROLLBACK")).await.is_ok() {
                    self.keep(tx);
                }
                return Err(error.into());
            }
        }
        match in_time(tx.control("COMMIT")).await {
            Ok(()) => Ok(tx),
            // The server says itself that it gave the transaction up; the connection is as good as before.
            Err(error) if error.is_conflict() => {
                if let Connection::Postgres(session) = tx.connection {
                    self.writers.give_back(session.connection);
                }
                Err(Failure::Nothing(error))
            }
            Err(error) => Err(Failure::Unknown(error)),
        }
    }

    fn keep(&self, tx: Tx) {
        if let Connection::Postgres(PgSession { connection, broken: false }) = tx.connection {
            self.writers.give_back(connection);
        }
    }
}

/// Everything up to the commit. Savepoints cost two journeys for each job, so a batch goes without them until a job
/// is refused after it had changed something.
async fn fill(tx: &mut Tx, jobs: &mut [Box<dyn Job>]) -> Result<()> {
    tx.control(BEGIN).await?;
    if !run_all(tx, jobs).await? {
        tx.control("ROLLBACK").await?;
        tx.forget_all();
        tx.control(BEGIN).await?;
        for job in jobs {
            run_in_savepoint(tx, job.as_mut()).await?;
        }
    }
    tx.seal().await?;
    if tx.connection.is_broken() {
        return Err(Error::BadOperation("a statement failed and its operation went on"));
    }
    Ok(())
}

async fn run_all(tx: &mut Tx, jobs: &mut [Box<dyn Job>]) -> Result<bool> {
    for job in jobs {
        if !run_plainly(tx, job.as_mut()).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn fail_all(jobs: Vec<Box<dyn Job>>, error: &Error) {
    jobs.into_iter().for_each(|job| job.fail(error.shared()));
}

/// Longer with every try and never the same for two that met.
fn pause(tries: u32) -> Duration {
    let longest = Duration::from_millis(1 << tries.min(6)).min(PAUSE_LONGEST);
    longest.mul_f64((RandomState::new().hash_one(tries) % 1000) as f64 / 1000.0)
}
