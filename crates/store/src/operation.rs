//! An operation: what one caller wants done in one transaction.

use crate::{Error, Tx};
use std::future::Future;

/// Runs against one transaction: all of it happens, or none.
///
/// `run` takes `&self` because an engine may run it again after a conflict, so it must not keep anything outside the
/// transaction. It may await nothing but the transaction: on SQLite it is polled once, on the thread that owns
/// the connection.
pub trait Operation: Send + Sync + 'static {
    type Output: Send + 'static;
    type Error: From<Error> + Send + 'static;

    fn run(&self, tx: &mut Tx) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send;
}
