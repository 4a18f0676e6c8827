//! Bringing a SQLite file to the newest schema. A copy of an older one is put aside first.

use super::backups;
use crate::migrations::{Applied, Migration, checksum};
use crate::{Error, Result};
use rusqlite::Connection;
use std::path::Path;

/// "LNGH": marks a file as ours.
const APPLICATION_ID: i64 = 0x4C4E_4748;

pub(crate) fn migrate(connection: &mut Connection, path: &Path, known: &[Migration]) -> Result<()> {
    // A start that has nothing to change writes nothing: it must be possible on a full disk.
    if !is_ours(connection)? {
        connection.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    }
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
           version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL);",
    )?;
    let applied = Applied { steps: applied(connection)?, place: path.display().to_string() };
    let missing = applied.missing(known, |step| step.sqlite)?;
    if missing.is_empty() {
        return Ok(());
    }
    let from = applied.version();
    if from == 0 {
        return apply(connection, missing).map_err(Error::from);
    }
    let copy = backups::copy_aside(connection, path, from)?;
    tracing::info!(from, copy = %copy.display(), "upgrading the database; a copy was put aside");
    apply(connection, missing).map_err(|source| Error::Migration {
        place: applied.place,
        from,
        copy,
        way_back: "stop, put the copy in the place of the database, remove the files -wal and -shm beside it, and \
                   start the version you had",
        source: Box::new(source.into()),
    })
}

/// Refuses a file that another program made, before anything about it is changed.
pub(crate) fn check_owner(connection: &Connection, path: &Path) -> Result<()> {
    let tables: i64 = connection.query_row("SELECT COUNT(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables == 0 || is_ours(connection)? {
        return Ok(());
    }
    Err(Error::Foreign { place: path.display().to_string(), reason: "another program made it".into() })
}

/// Whether the file carries our mark.
pub(crate) fn is_ours(connection: &Connection) -> Result<bool> {
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(application == APPLICATION_ID)
}

fn applied(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut statement = connection.prepare("SELECT version, checksum FROM schema_migrations ORDER BY version")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn apply(connection: &mut Connection, steps: &[Migration]) -> rusqlite::Result<()> {
    for step in steps {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step.sqlite)?;
        transaction.execute(
            "INSERT INTO schema_migrations (version, name, checksum) VALUES (?1, ?2, ?3)",
            (step.version, step.name, checksum(step.sqlite)),
        )?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrations::MIGRATIONS;
    use crate::sqlite;

    fn open(path: &Path) -> Connection {
        sqlite::open_writer(path).unwrap()
    }

    #[test]
    fn an_older_database_is_copied_aside_before_it_is_upgraded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhouse.db");
        let mut connection = open(&path);
        migrate(&mut connection, &path, &MIGRATIONS[..1]).unwrap();
        connection.execute("INSERT INTO users (id, role, created_at) VALUES ('usr_a', 'member', 1)", []).unwrap();
        migrate(&mut connection, &path, MIGRATIONS).unwrap();
        let users: i64 = connection.query_row("SELECT COUNT(*) FROM users", [], |row| row.get(0)).unwrap();
        assert_eq!(users, 1);

        let copies: Vec<_> = std::fs::read_dir(dir.path().join("backups")).unwrap().collect();
        assert_eq!(copies.len(), 1);
        let copy = open(&copies[0].as_ref().unwrap().path());
        let version: i64 = copy.query_row("SELECT MAX(version) FROM schema_migrations", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 1);
    }

    #[test]
    fn a_newer_database_is_refused_untouched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhouse.db");
        let mut connection = open(&path);
        migrate(&mut connection, &path, MIGRATIONS).unwrap();
        let refused = migrate(&mut connection, &path, &MIGRATIONS[..2]).unwrap_err();
        let newest = MIGRATIONS.last().unwrap().version;
        assert!(matches!(refused, Error::NewerSchema { found, known: 2, .. } if found == newest), "{refused}");
    }

    #[test]
    fn a_failing_step_leaves_the_old_schema_and_names_the_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhouse.db");
        let mut connection = open(&path);
        migrate(&mut connection, &path, &MIGRATIONS[..1]).unwrap();
        let broken = [
            Migration { version: 1, name: "identity", sqlite: MIGRATIONS[0].sqlite, postgres: "" },
            Migration {
                version: 2,
                name: "broken",
                sqlite: "CREATE TABLE fine (a TEXT); CREATE TABLE users (a TEXT);",
                postgres: "",
            },
        ];
        let error = migrate(&mut connection, &path, &broken).unwrap_err();
        assert!(matches!(&error, Error::Migration { from: 1, copy, .. } if copy.exists()), "{error}");
        let fine: i64 = connection
            .query_row("SELECT COUNT(*) FROM sqlite_master WHERE name = 'fine'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(fine, 0, "a failed step leaves nothing behind");
    }

    #[test]
    fn a_file_of_another_program_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhouse.db");
        let connection = open(&path);
        connection.execute_batch("CREATE TABLE notes (a TEXT)").unwrap();
        drop(connection);
        assert!(matches!(sqlite::open_writer(&path), Err(Error::Foreign { .. })));
    }
}
