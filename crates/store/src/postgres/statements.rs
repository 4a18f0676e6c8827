//! Statements on PostgreSQL.

use crate::rows::{Param, Row, Value};
use crate::{Error, Result};
use sqlx::postgres::{PgArguments, PgConnection, PgRow, Postgres};
use sqlx::query::Query;
use sqlx::{Column, Row as _, TypeInfo, ValueRef};

fn bound<'q>(sql: &'static str, params: &'q [Param<'q>]) -> Query<'q, Postgres, PgArguments> {
    params.iter().fold(sqlx::query(sql), |query, param| match param {
        Param::Integer(number) => query.bind(*number),
        Param::Text(text) => query.bind(*text),
    })
}

pub(crate) async fn query(connection: &mut PgConnection, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
    let rows = bound(sql, params).fetch_all(connection).await?;
    rows.iter().map(owned).collect()
}

pub(crate) async fn execute(connection: &mut PgConnection, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
    Ok(bound(sql, params).execute(connection).await?.rows_affected())
}

/// Runs a statement whose parameters are the columns of many rows.
pub(crate) async fn insert<const N: usize>(
    connection: &mut PgConnection,
    sql: &'static str,
    rows: &[[Param<'_>; N]],
) -> Result<Vec<Row>> {
    let mut query = sqlx::query(sql);
    for column in 0..N {
        let values = rows.iter().map(|row| row[column]);
        query = match rows.first().map(|row| row[column]) {
            Some(Param::Integer(_)) => query.bind(values.map(Param::integer).collect::<Vec<Option<i64>>>()),
            _ => query.bind(values.map(Param::text).collect::<Vec<Option<&str>>>()),
        };
    }
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(owned).collect()
}

/// Our columns are 64-bit numbers or texts, and nothing else.
pub(crate) fn owned(row: &PgRow) -> Result<Row> {
    let mut values = Vec::with_capacity(row.columns().len());
    for (index, column) in row.columns().iter().enumerate() {
        let value = match column.type_info().name() {
            _ if row.try_get_raw(index)?.is_null() => Value::Null,
            "INT8" => Value::Integer(row.try_get(index)?),
            "TEXT" => Value::Text(row.try_get(index)?),
            _ => return Err(Error::BadRow("a column of an unknown type".into())),
        };
        values.push(value);
    }
    Ok(Row::new(values))
}
