//! Consistent copies of a database, made while others write. A copy is a SQLite file, whatever the engine.

use super::migrations;
use super::statements::owned;
use crate::rows::Value;
use crate::{Error, Result, sqlite};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Copies the database of `connection` into the new file `target` and puts it on disk before returning.
pub(crate) fn copy(connection: &Connection, target: &Path) -> Result<()> {
    check_new(target)?;
    let text = target
        .to_str()
        .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path of a copy must be UTF-8"))?;
    connection.execute("VACUUM INTO ?1", [text])?;
    put_on_disk(target)
}

pub(crate) fn check_new(target: &Path) -> Result<()> {
    if target.exists() {
        let message = format!("{} exists already", target.display());
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, message).into());
    }
    Ok(())
}

pub(crate) fn put_on_disk(target: &Path) -> Result<()> {
    sqlite::set_owner_only(target)?;
    File::open(target)?.sync_all()?;
    if let Some(parent) = target.parent() {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// Puts a copy of an older database aside, in `backups/` beside it.
pub(crate) fn copy_aside(connection: &Connection, path: &Path, version: i64) -> Result<PathBuf> {
    let aside = Aside::name(&path.parent().unwrap_or(Path::new(".")).join("backups"), version)?;
    copy(connection, &aside.partial)?;
    aside.finish()
}

/// The copy of an older database in the making: it gets its name when it is whole.
pub(crate) struct Aside {
    pub(crate) partial: PathBuf,
    target: PathBuf,
}

impl Aside {
    pub(crate) fn name(folder: &Path, version: i64) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        if let Some(parent) = folder.parent() {
            File::open(parent)?.sync_all()?;
        }
        let names = (1..10_000).map(|number| folder.join(format!("before-upgrade-from-schema-{version}-{number}.db")));
        let free = names.into_iter().find(|target| !target.exists());
        let target = free.ok_or_else(|| Error::Unavailable("too many old copies in backups/".into()))?;
        let partial = target.with_extension("partial");
        // What an upgrade that was cut off left behind.
        for leftover in ["", "-journal", "-wal", "-shm"] {
            let mut name = partial.clone().into_os_string();
            name.push(leftover);
            match std::fs::remove_file(name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(Self { partial, target })
    }

    pub(crate) fn finish(self) -> Result<PathBuf> {
        std::fs::rename(&self.partial, &self.target)?;
        put_on_disk(&self.target)?;
        Ok(self.target)
    }
}

/// Whether the file is a whole database: used on copies before they are trusted.
pub(crate) fn check(path: &Path) -> Result<()> {
    let connection = sqlite::open_reader(path)?;
    sqlite::integrity_check(&connection, path)?;
    if migrations::is_ours(&connection)? {
        return Ok(());
    }
    Err(Error::Foreign { place: path.display().to_string(), reason: "it holds no house".into() })
}

/// A table as a copy has it. Columns hold texts or numbers, and nothing else.
pub(crate) struct TableShape {
    pub(crate) name: String,
    names: Vec<String>,
    pub(crate) kinds: Vec<ColumnKind>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnKind {
    Integer,
    Text,
}

impl ColumnKind {
    pub(crate) fn is_text(self) -> bool {
        self == Self::Text
    }

    pub(crate) fn postgres(self) -> &'static str {
        if self.is_text() { "TEXT" } else { "BIGINT" }
    }
}

impl TableShape {
    pub(crate) fn columns(&self) -> String {
        self.names.join(", ")
    }
}

/// Every table, after those that it refers to. The history of the schema is left out: it is the engine's own.
pub(crate) fn shapes(connection: &Connection) -> Result<Vec<TableShape>> {
    let mut waiting = texts(
        connection,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_migrations'
            AND name NOT LIKE 'sqlite_%' AND ?1 = '' ORDER BY rowid",
        "",
    )?;
    let mut shapes: Vec<TableShape> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let mut later = Vec::new();
        let placed = shapes.len();
        for name in waiting {
            let refers_to = texts(connection, "SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(?1)", &name)?;
            let is_placed = |other: &String| *other == name || shapes.iter().any(|shape| shape.name == *other);
            if refers_to.iter().all(is_placed) {
                shapes.push(shape(connection, name)?);
            } else {
                later.push(name);
            }
        }
        if shapes.len() == placed {
            return Err(Error::BadRow("tables that refer to each other in a circle".into()));
        }
        waiting = later;
    }
    Ok(shapes)
}

fn texts(connection: &Connection, sql: &str, param: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let found = statement.query_map([param], |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn shape(connection: &Connection, name: String) -> Result<TableShape> {
    let mut columns = connection.prepare("SELECT name, type FROM pragma_table_info(?1) ORDER BY cid")?;
    let columns = columns.query_map([&name], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let columns = columns.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    let kind = |declared: &str| if declared == "TEXT" { ColumnKind::Text } else { ColumnKind::Integer };
    let kinds = columns.iter().map(|(_, declared)| kind(declared)).collect();
    Ok(TableShape { name, names: columns.into_iter().map(|(column, _)| column).collect(), kinds })
}

pub(crate) fn insert_rows(connection: &Connection, table: &TableShape, rows: &[Vec<Value>]) -> Result<()> {
    let places: Vec<String> = (1..=table.names.len()).map(|number| format!("?{number}")).collect();
    let sql = format!("INSERT INTO {} ({}) VALUES ({})", table.name, table.columns(), places.join(", "));
    let mut statement = connection.prepare_cached(&sql)?;
    for row in rows {
        let values = row.iter().map(|value| match value {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        });
        let values = values.map(rusqlite::types::ToSqlOutput::Borrowed);
        statement.execute(rusqlite::params_from_iter(values))?;
    }
    Ok(())
}

/// Hands on every row of a table, `at_once` at a time.
pub(crate) fn read_rows(
    connection: &Connection,
    table: &TableShape,
    at_once: usize,
    mut hand_on: impl FnMut(Vec<Vec<Value>>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare(&format!("SELECT {} FROM {}", table.columns(), table.name))?;
    let mut rows = statement.query([])?;
    let mut found = Vec::with_capacity(at_once);
    while let Some(row) = rows.next()? {
        let values = (0..table.names.len()).map(|column| owned(row.get_ref(column)?));
        found.push(values.collect::<Result<_>>()?);
        if found.len() == at_once {
            hand_on(std::mem::take(&mut found))?;
        }
    }
    if found.is_empty() { Ok(()) } else { hand_on(found) }
}
