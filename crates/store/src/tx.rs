//! A transaction: statements in, rows out, and what is told to others only if it commits.

use crate::audit::PendingAudit;
use crate::rows::{Param, Row, Value};
use crate::{Error, Operation, Result, Scope};
use domain::events::RecordedEvent;
use domain::ids::WorkspaceId;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::sync::Arc;

/// The connection under a transaction. PostgreSQL is to become the second variant.
pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
}

pub struct Tx {
    connection: Connection,
    /// Audit rows of this transaction, sealed and written just before it commits.
    pub(crate) audit: Vec<PendingAudit>,
    /// Events of this transaction, handed to the fan-out right after it committed.
    pub(crate) events: Vec<Arc<RecordedEvent>>,
    /// The first failure of the disk or the file, as against a refused statement.
    fault: Option<Error>,
    /// What others have to be told once this has committed.
    pub(crate) signals: Signals,
    /// The session that the operation under way is about.
    session_uid: Option<String>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals {
    pub(crate) rights_shrank: bool,
    pub(crate) expiry_set: bool,
}

/// How far a transaction had got, to return to after a refusal.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    audit: usize,
    events: usize,
}

impl Tx {
    pub(crate) fn sqlite(connection: rusqlite::Connection) -> Self {
        Self {
            connection: Connection::Sqlite(connection),
            audit: Vec::new(),
            events: Vec::new(),
            fault: None,
            signals: Signals::default(),
            session_uid: None,
        }
    }

    /// The rows of one workspace.
    pub fn scope<'t>(&'t mut self, workspace: &'t WorkspaceId) -> Scope<'t> {
        Scope::new(self, workspace)
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { audit: self.audit.len(), events: self.events.len() }
    }

    pub(crate) fn forget_since(&mut self, mark: Mark) {
        self.audit.truncate(mark.audit);
        self.events.truncate(mark.events);
    }

    pub(crate) fn forget_all(&mut self) {
        self.audit.clear();
        self.events.clear();
        self.fault = None;
        self.signals = Signals::default();
        self.session_uid = None;
    }

    /// Somebody may do less once this has committed: whoever relies on rights looks at them again.
    pub fn rights_shrank(&mut self) {
        self.signals.rights_shrank = true;
    }

    /// A key was given a time to live: whoever sleeps until the next expiry may have to wake earlier.
    pub fn expiry_set(&mut self) {
        self.signals.expiry_set = true;
    }

    /// Notes which session this is about, so that what is kept of the answer goes when the session goes.
    pub fn about_session(&mut self, uid: &str) {
        self.session_uid = Some(uid.to_owned());
    }

    pub(crate) fn session_uid(&self) -> Option<&str> {
        self.session_uid.as_deref()
    }

    /// Runs an operation inside this transaction; if it fails, nothing of it stays and the rest goes on.
    pub async fn attempt<O: Operation>(&mut self, operation: &O) -> Result<O::Output, O::Error> {
        let mark = self.mark();
        self.session_uid = None;
        self.control("SAVEPOINT attempt")?;
        let outcome = operation.run(self).await;
        if outcome.is_err() && !self.is_over() {
            self.forget_since(mark);
            self.control("ROLLBACK TO attempt")?;
        }
        if !self.is_over() {
            self.control("RELEASE attempt")?;
        }
        outcome
    }

    /// Runs a statement and gives its rows.
    pub(crate) async fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                let outcome = sqlite_query(connection, sql, params);
                self.noting_faults(outcome)
            }
        }
    }

    /// Runs a statement that gives at most one row.
    pub(crate) async fn query_one(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Option<Row>> {
        Ok(self.query(sql, params).await?.pop())
    }

    /// Runs a statement and tells how many rows it changed.
    pub(crate) async fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                let outcome = sqlite_execute(connection, sql, params);
                self.noting_faults(outcome)
            }
        }
    }

    /// Inserts one row into a table whose key the engine numbers, and gives the number.
    pub(crate) async fn insert_numbered(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
        self.execute(sql, params).await?;
        match &self.connection {
            // `RETURNING` would do on both engines, but costs SQLite a table of its own for each insert.
            Connection::Sqlite(connection) => Ok(u64::try_from(connection.last_insert_rowid()).unwrap_or(0)),
        }
    }

    fn noting_faults<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome
            && error.is_fault()
            && self.fault.is_none()
        {
            self.fault = Some(error.shared());
        }
        outcome
    }

    pub(crate) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Runs `BEGIN`, `COMMIT`, `SAVEPOINT` and the like.
    pub(crate) fn control(&mut self, sql: &'static str) -> Result<()> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                connection.prepare_cached(sql)?.execute([])?;
                Ok(())
            }
        }
    }

    /// Whether the engine has given up the transaction by itself, as SQLite does after some I/O errors.
    pub(crate) fn is_over(&self) -> bool {
        match &self.connection {
            Connection::Sqlite(connection) => connection.is_autocommit(),
        }
    }

    pub(crate) fn into_sqlite(self) -> rusqlite::Connection {
        match self.connection {
            Connection::Sqlite(connection) => connection,
        }
    }
}

fn bind(statement: &mut rusqlite::Statement<'_>, params: &[Param<'_>]) -> rusqlite::Result<()> {
    for (index, param) in params.iter().enumerate() {
        let value = match param {
            Param::Null => ValueRef::Null,
            Param::Integer(number) => ValueRef::Integer(*number),
            Param::Text(text) => ValueRef::Text(text.as_bytes()),
        };
        statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

fn sqlite_query(connection: &rusqlite::Connection, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            values.push(owned(row.get_ref(column)?)?);
        }
        found.push(Row::new(values));
    }
    Ok(found)
}

fn sqlite_execute(connection: &rusqlite::Connection, sql: &str, params: &[Param<'_>]) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    Ok(statement.raw_execute()? as u64)
}

fn owned(value: ValueRef<'_>) -> Result<Value> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(Value::Integer(number)),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err(Error::BadRow("a text is not UTF-8".into())),
        },
        ValueRef::Real(_) | ValueRef::Blob(_) => Err(Error::BadRow("a column of an unknown type".into())),
    }
}
