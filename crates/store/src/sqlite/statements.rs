//! Statements on SQLite.

use crate::rows::{Param, Row, Value};
use crate::{Error, Result};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

fn bind(statement: &mut Statement<'_>, params: &[Param<'_>]) -> rusqlite::Result<()> {
    for (index, param) in params.iter().enumerate() {
        let value = match param {
            Param::Integer(Some(number)) => ValueRef::Integer(*number),
            Param::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Param::Integer(None) | Param::Text(None) => ValueRef::Null,
        };
        statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

pub(crate) fn query(connection: &Connection, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
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

pub(crate) fn execute(connection: &Connection, sql: &str, params: &[Param<'_>]) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    Ok(statement.raw_execute()? as u64)
}

pub(crate) fn owned(value: ValueRef<'_>) -> Result<Value> {
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
