//! Work on its way to a writer, whatever its types.

use crate::operation::ready;
use crate::{Error, Operation, Result, Tx};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use tokio::sync::oneshot;

/// One caller's work.
pub(crate) trait Job: Send {
    /// Whether its caller's thread may run it.
    fn is_small(&self) -> bool;
    /// Answers whether the work is to be kept. May be run again if nothing was kept.
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool>;
    /// Tells the caller what `run` gave. Called after the commit.
    fn acknowledge(self: Box<Self>);
    /// Tells the caller that nothing is acknowledged.
    fn fail(self: Box<Self>, error: Error);
}

pub(crate) struct PendingOperation<O: Operation> {
    operation: O,
    outcome: Option<Result<O::Output, O::Error>>,
    reply: oneshot::Sender<Result<O::Output, O::Error>>,
}

impl<O: Operation> PendingOperation<O> {
    pub(crate) fn new(operation: O, reply: oneshot::Sender<Result<O::Output, O::Error>>) -> Self {
        Self { operation, outcome: None, reply }
    }
}

impl<O: Operation> Job for PendingOperation<O> {
    fn is_small(&self) -> bool {
        self.operation.is_small()
    }

    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool> {
        let run = async move {
            // Nobody waits any more: the request was dropped before its turn came.
            if self.reply.is_closed() {
                return false;
            }
            let never_waits = tx.connection.never_waits();
            let run = AssertUnwindSafe(self.operation.run(tx)).catch_unwind();
            let outcome = if never_waits { ready(run) } else { Ok(run.await) };
            let outcome = outcome.and_then(|outcome| outcome.map_err(|_| Error::BadOperation("it panicked")));
            self.outcome.insert(outcome.unwrap_or_else(|error| Err(error.into()))).is_ok()
        };
        run.boxed()
    }

    fn acknowledge(mut self: Box<Self>) {
        if let Some(outcome) = self.outcome.take() {
            // The caller may have gone; its work stays done.
            let _ = self.reply.send(outcome);
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        let _ = self.reply.send(Err(error.into()));
    }
}

/// Runs a job as it is. Answers whether the transaction is as if a refused job had never been there: it is if the job
/// changed nothing before it was refused, as nearly all do.
pub(crate) async fn run_plainly(tx: &mut Tx, job: &mut dyn Job) -> Result<bool> {
    let mark = tx.mark();
    let keep = job.run(tx).await;
    tx.check_faults()?;
    if keep {
        return Ok(true);
    }
    let is_as_before = !tx.has_changed_since(mark) && !tx.connection.is_broken();
    tx.forget_since(mark);
    Ok(is_as_before)
}

/// Runs a job so that a refusal leaves nothing of it and the rest of the transaction stands. An error means that the
/// whole transaction is lost.
pub(crate) async fn run_in_savepoint(tx: &mut Tx, job: &mut dyn Job) -> Result<()> {
    let mark = tx.mark();
    tx.control("SAVEPOINT job").await?;
    let keep = job.run(tx).await;
    tx.check_faults()?;
    if !keep {
        tx.forget_since(mark);
        tx.control("ROLLBACK TO job").await?;
    }
    tx.control("RELEASE job").await
}
