//! Which engine a test's house stands on: a file of its own, or a schema of its own in the PostgreSQL database that
//! `LONGHOUSE_TEST_STORAGE_URL` names (`cargo xtask test` starts one and runs the stories a second time).

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// A place for a new house: `None` is its own folder.
pub async fn new_storage() -> Option<String> {
    let base = std::env::var("LONGHOUSE_TEST_STORAGE_URL").ok()?;
    let schema = format!("house_{}", uuid::Uuid::now_v7().simple());
    let mut connection = PgConnection::connect(&base).await.expect("PostgreSQL answers");
    connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).await.expect("a schema");
    let separator = if base.contains('?') { '&' } else { '?' };
    Some(format!("{base}{separator}options[search_path]={schema}"))
}

/// Whether houses stand on PostgreSQL in this run.
pub fn on_postgres() -> bool {
    std::env::var_os("LONGHOUSE_TEST_STORAGE_URL").is_some()
}
