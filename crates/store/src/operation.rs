//! An operation: what one caller wants done in one transaction.

use crate::{Error, Result, Tx};
use futures_util::FutureExt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What is called little data: nobody has to wait while it is written.
pub const LITTLE_BYTES: usize = 64 * 1024;

/// Runs against one transaction: all of it happens, or none.
///
/// `run` takes `&self` because an engine may run it again after a conflict, so it must not keep anything outside the
/// transaction. It may await nothing but the transaction: on SQLite it is polled once, on the thread that holds
/// the connection then.
pub trait Operation: Send + Sync + 'static {
    type Output: Send + 'static;
    type Error: From<Error> + Send + 'static;

    /// Whether it is a handful of statements on little data (`LITTLE_BYTES`), however much there is in the house: then it may be run by its
    /// caller's own thread.
    fn is_small(&self) -> bool {
        false
    }

    fn run(&self, tx: &mut Tx) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send;
}

/// Runs a future to its end that cannot wait, because on SQLite there is nothing that would wake it.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Ok(outcome),
        Poll::Pending => Err(Error::BadOperation("it waited for something other than the transaction")),
    }
}

/// Runs a read to its end. One that panics harms nobody but its caller.
pub(crate) fn read_now<O: Operation>(operation: &O, tx: &mut Tx) -> Result<O::Output, O::Error> {
    let run = ready(AssertUnwindSafe(operation.run(tx)).catch_unwind());
    let outcome = run.and_then(|outcome| outcome.map_err(|_| Error::BadOperation("a read panicked")));
    outcome.unwrap_or_else(|error| Err(error.into()))
}
