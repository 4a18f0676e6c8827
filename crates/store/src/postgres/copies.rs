//! Copies of a PostgreSQL database are SQLite files, the same as those of a house on SQLite: one format for every
//! backup, and the way from one engine to the other.

use super::connections::connect;
use super::{Postgres, migrations, options, statements, wait_for_lock};
use crate::migrations::{MIGRATIONS, Migration};
use crate::rows::Value;
use crate::sqlite::backups::{TableShape, insert_rows, put_on_disk, read_rows, shapes};
use crate::{Error, Result, sqlite};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor, Row};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A row may hold a mebibyte, and a few chunks are on their way at once.
const ROWS_AT_ONCE: usize = 50;
const CHUNKS_ON_THEIR_WAY: usize = 2;

impl Postgres {
    pub(crate) async fn copy_to(&self, target: &Path) -> Result<()> {
        to_file(&mut connect(&self.options).await?, target, MIGRATIONS).await
    }
}

/// Copies everything at one moment into a new file of the schema that `steps` make.
pub(super) async fn to_file(source: &mut PgConnection, target: &Path, steps: &[Migration]) -> Result<()> {
    sqlite::backups::check_new(target)?;
    let mut file = sqlite::open_writer(target)?;
    sqlite::migrations::migrate(&mut file, target, steps)?;
    let tables = shapes(&file)?;
    // Writing to the file is for a thread that may wait for the disk.
    let (sender, chunks) = mpsc::channel(CHUNKS_ON_THEIR_WAY);
    let path = target.to_owned();
    let writing = tokio::task::spawn_blocking(move || write_all(file, &path, chunks));
    source.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    'tables: for table in tables.into_iter().map(Arc::new) {
        let select = format!("DECLARE rows CURSOR FOR SELECT {} FROM {}", table.columns(), table.name);
        source.execute(AssertSqlSafe(select)).await?;
        loop {
            // Not kept prepared: the same words give other columns for the next table.
            let fetch = sqlx::query(AssertSqlSafe(format!("FETCH {ROWS_AT_ONCE} FROM rows"))).persistent(false);
            let rows = fetch.fetch_all(&mut *source).await?;
            let rows: Vec<Vec<Value>> =
                rows.iter().map(|row| Ok(statements::owned(row)?.into_values())).collect::<Result<_>>()?;
            if rows.is_empty() {
                break;
            }
            if sender.send((table.clone(), rows)).await.is_err() {
                // It failed to write, and says why below.
                break 'tables;
            }
        }
        source.execute("CLOSE rows").await?;
    }
    source.execute("COMMIT").await?;
    drop(sender);
    writing.await.unwrap_or(Err(Error::BadOperation("writing a copy panicked")))
}

fn write_all(file: rusqlite::Connection, target: &Path, mut chunks: mpsc::Receiver<Chunk>) -> Result<()> {
    file.execute_batch("BEGIN")?;
    while let Some((table, rows)) = chunks.blocking_recv() {
        insert_rows(&file, &table, &rows)?;
    }
    file.execute_batch("COMMIT")?;
    file.close().map_err(|(_, error)| error)?;
    put_on_disk(target)
}

/// Fills an empty database with what a file of the schema that `steps` make has: all of it or nothing.
pub(crate) async fn from_file(url: &str, source: &Path, steps: &[Migration]) -> Result<()> {
    let mut target = wait_for_lock(&options(url)?).await?;
    // No copy is put aside: there is nothing yet.
    migrations::migrate(&mut target, source.parent().unwrap_or(source), steps).await?;
    let occupied = sqlx::query("SELECT EXISTS (SELECT 1 FROM users)").fetch_one(&mut target).await?;
    if occupied.try_get(0)? {
        return Err(Error::Occupied);
    }
    let (sender, mut chunks) = mpsc::channel(CHUNKS_ON_THEIR_WAY);
    let source = source.to_owned();
    let reading = tokio::task::spawn_blocking(move || read_all(&source, &sender));
    let mut transaction = sqlx::Connection::begin(&mut target).await?;
    while let Some((table, rows)) = chunks.recv().await {
        insert(&mut transaction, &table, rows).await?;
    }
    reading.await.unwrap_or(Err(Error::BadOperation("reading a copy panicked")))?;
    if steps.iter().any(|step| step.name == "record") {
        let go_on = "SELECT setval('event_numbers', (SELECT MAX(seq) FROM events)) FROM events LIMIT 1";
        transaction.execute(go_on).await?;
    }
    transaction.commit().await?;
    Ok(())
}

type Chunk = (Arc<TableShape>, Vec<Vec<Value>>);

fn read_all(source: &Path, sender: &mpsc::Sender<Chunk>) -> Result<()> {
    let file = sqlite::open_reader(source)?;
    for table in shapes(&file)? {
        let table = Arc::new(table);
        let gone = || Error::Unavailable("the database stopped taking rows".into());
        read_rows(&file, &table, ROWS_AT_ONCE, |rows| sender.blocking_send((table.clone(), rows)).map_err(|_| gone()))?;
    }
    Ok(())
}

async fn insert(target: &mut PgConnection, table: &TableShape, rows: Vec<Vec<Value>>) -> Result<()> {
    let mut columns: Vec<Vec<Value>> = table.kinds.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let arrays: Vec<String> =
        table.kinds.iter().enumerate().map(|(index, kind)| format!("${}::{}[]", index + 1, kind.postgres())).collect();
    let sql = format!("INSERT INTO {} ({}) SELECT * FROM UNNEST({})", table.name, table.columns(), arrays.join(", "));
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (kind, column) in table.kinds.iter().zip(columns) {
        query = if kind.is_text() {
            query.bind(column.into_iter().map(Value::into_text).collect::<Result<Vec<Option<String>>>>()?)
        } else {
            query.bind(column.into_iter().map(Value::into_integer).collect::<Result<Vec<Option<i64>>>>()?)
        };
    }
    query.execute(target).await?;
    Ok(())
}
