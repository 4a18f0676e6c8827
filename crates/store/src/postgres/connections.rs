//! A bounded number of connections, used again only when their last transaction was ended properly: one whose
//! caller went away in the middle is simply closed.

use crate::{Error, Result};
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long a caller waits for its turn before it is told that the house is too busy.
const TURN_WITHIN: Duration = Duration::from_secs(10);

pub(crate) struct Connections {
    options: PgConnectOptions,
    idle: Mutex<Vec<PgConnection>>,
    places: Semaphore,
}

impl Connections {
    pub(crate) fn new(options: PgConnectOptions, most: usize) -> Self {
        Self { options, idle: Mutex::default(), places: Semaphore::new(most) }
    }

    /// Waits for one's turn; others are served in the order they came.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        let turn = tokio::time::timeout(TURN_WITHIN, self.places.acquire()).await;
        turn.ok().and_then(Result::ok).ok_or_else(|| Error::Unavailable("every connection is busy".into()))
    }

    /// A connection for whoever has its turn.
    pub(crate) async fn take(&self, _turn: &SemaphorePermit<'_>) -> Result<PgConnection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => connect(&self.options).await,
        }
    }

    pub(crate) fn give_back(&self, connection: PgConnection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    /// Closes what is idle: after the database went away none of it can be trusted.
    pub(crate) fn clear(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection> {
    match tokio::time::timeout(CONNECT_WITHIN, options.connect()).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(sqlx::Error::Io(error))) => Err(Error::Lost(error.to_string())),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Error::Lost("it does not answer".into())),
    }
}
