//! The connection under a transaction, of either engine.
//!
//! What waits for PostgreSQL is boxed: its futures are large, and would make every operation large, also where SQLite
//! answers at once.

use crate::rows::{Param, Row};
use crate::{Error, Result, postgres, sqlite};
use sqlx::Executor;
use sqlx::postgres::PgConnection;

pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(PgSession),
}

/// How rows get into a table, many at a time: one by one where that costs nothing, all at once where each statement is
/// a journey.
pub(crate) struct Insert {
    pub(crate) one_by_one: &'static str,
    /// With one array for each column; gives the numbers of the rows if the engine numbers them.
    pub(crate) at_once: &'static str,
}

/// PostgreSQL answers nothing more in a transaction after an error, and a commit then rolls back in silence.
pub(crate) struct PgSession {
    pub(crate) connection: PgConnection,
    pub(crate) broken: bool,
}

impl PgSession {
    fn noting<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.broken |= outcome.is_err();
        outcome
    }
}

impl Connection {
    pub(crate) fn postgres(connection: PgConnection) -> Self {
        Self::Postgres(PgSession { connection, broken: false })
    }

    pub(crate) async fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(connection) => sqlite::statements::query(connection, sql, params),
            Self::Postgres(session) => {
                let query = postgres::statements::query(&mut session.connection, sql, params);
                let outcome = Box::pin(query).await;
                session.noting(outcome)
            }
        }
    }

    pub(crate) async fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => sqlite::statements::execute(connection, sql, params),
            Self::Postgres(session) => {
                let execute = postgres::statements::execute(&mut session.connection, sql, params);
                let outcome = Box::pin(execute).await;
                session.noting(outcome)
            }
        }
    }

    /// Sees to it that nobody commits an event with a higher number before this transaction has committed: whoever
    /// reads the log in the order of its numbers must not find one behind its back.
    pub(crate) async fn reserve_event_numbers(&mut self) -> Result<()> {
        match self {
            // There is one writer.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(_) => self.execute(postgres::LOCK_EVENT_NUMBERS, &[]).await.map(drop),
        }
    }

    /// Inserts rows in their order and gives the numbers that they got, where the engine numbers them.
    pub(crate) async fn insert<const N: usize>(
        &mut self,
        insert: &Insert,
        rows: &[[Param<'_>; N]],
    ) -> Result<Vec<u64>> {
        match self {
            // `RETURNING` would do on both engines, but costs SQLite a table of its own for each insert.
            Self::Sqlite(connection) => {
                let mut numbers = Vec::with_capacity(rows.len());
                for row in rows {
                    sqlite::statements::execute(connection, insert.one_by_one, row)?;
                    numbers.push(u64::try_from(connection.last_insert_rowid()).unwrap_or(0));
                }
                Ok(numbers)
            }
            Self::Postgres(session) => {
                let insert = postgres::statements::insert(&mut session.connection, insert.at_once, rows);
                let outcome = Box::pin(insert).await;
                session.noting(outcome)?.iter_mut().map(Row::count).collect()
            }
        }
    }

    /// Runs a statement that has neither parameters nor rows.
    pub(crate) async fn control(&mut self, sql: &'static str) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                connection.prepare_cached(sql)?.execute([])?;
                Ok(())
            }
            Self::Postgres(session) => {
                let outcome = Box::pin(session.connection.execute(sql)).await;
                session.noting(outcome.map_err(Error::from))?;
                if sql.starts_with("ROLLBACK") {
                    session.broken = false;
                }
                Ok(())
            }
        }
    }

    /// Whether a statement failed and nothing more will be answered in this transaction.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Postgres(PgSession { broken: true, .. }))
    }

    /// Whether everything on it is done where it stands: SQLite runs in this process.
    pub(crate) fn never_waits(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Whether the engine has given up the transaction by itself, as SQLite does after some I/O errors.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Sqlite(connection) => connection.is_autocommit(),
            Self::Postgres(_) => false,
        }
    }
}
