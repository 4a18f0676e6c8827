//! Read-only connections. A read runs where its caller runs, without changing threads: SQLite answers from memory
//! in microseconds, and a future over it never waits.

use super::open_reader;
use crate::{Error, Operation, Result, Tx};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

const IDLE_MOST: usize = 8;

pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Tx>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()) }
    }

    fn take(&self) -> Result<Tx> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| open_reader(&self.path).map(Tx::sqlite), Ok)
    }

    fn give_back(&self, mut tx: Tx) {
        // Nothing that a read pretended to record may ever be.
        tx.forget_all();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MOST {
            idle.push(tx);
        }
    }

    /// Runs a read on one consistent state of the database.
    pub(crate) fn run<O: Operation>(&self, operation: &O) -> Result<O::Output, O::Error> {
        let mut tx = self.take()?;
        tx.control("BEGIN")?;
        let outcome = poll_once(operation, &mut tx);
        // A connection that cannot end its transaction is not used again.
        if tx.control("COMMIT").is_ok() {
            self.give_back(tx);
        }
        outcome
    }

    /// A connection of one's own, for long work.
    pub(crate) fn open(&self) -> Result<rusqlite::Connection> {
        open_reader(&self.path)
    }
}

pub(crate) fn poll_once<O: Operation>(operation: &O, tx: &mut Tx) -> Result<O::Output, O::Error> {
    ready(operation.run(tx))?
}

/// Runs a future to its end. It cannot wait: there is nothing here to wake it.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Ok(outcome),
        Poll::Pending => Err(Error::BadOperation("it waited for something other than the transaction")),
    }
}
