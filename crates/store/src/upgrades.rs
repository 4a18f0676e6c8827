//! From every earlier schema to the newest one, and back: nothing is lost on either engine. The house in
//! `fixtures/schema-3.sql` was written by the version that had that schema.

use crate::migrations::{MIGRATIONS, Migration};
use crate::postgres::copies::from_file;
use crate::sqlite::backups::{insert_rows, read_rows, shapes};
use crate::sqlite::{migrations::migrate, open_reader, open_writer};
use crate::{ChainPosition, Error, Operation, Options, Result, Storage, Store, Tx};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const OLDEST_FIXTURE: &str = include_str!("../fixtures/schema-3.sql");
const FIXTURE_VERSION: usize = 3;

type Rows = BTreeMap<String, Vec<String>>;

/// The fixture as it was written.
fn fixture(folder: &Path) -> PathBuf {
    let path = folder.join("fixture.db");
    let connection = open_writer(&path).unwrap();
    // The tables of a dump come in the order of their names.
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.execute_batch(OLDEST_FIXTURE).unwrap();
    path
}

/// A house of the schema that `steps` make, with what the fixture has for it.
fn house_of(folder: &Path, steps: &[Migration]) -> PathBuf {
    if steps.len() >= FIXTURE_VERSION {
        let path = fixture(folder);
        migrate(&mut open_writer(&path).unwrap(), &path, steps).unwrap();
        return path;
    }
    let whole = open_reader(&fixture(folder)).unwrap();
    let path = folder.join("house.db");
    let mut connection = open_writer(&path).unwrap();
    migrate(&mut connection, &path, steps).unwrap();
    for table in shapes(&connection).unwrap() {
        read_rows(&whole, &table, 100, |rows| insert_rows(&connection, &table, &rows)).unwrap();
    }
    path
}

fn rows_of(path: &Path) -> Rows {
    let connection = open_reader(path).unwrap();
    let mut all = Rows::new();
    for table in shapes(&connection).unwrap() {
        let mut found = Vec::new();
        let keep = |rows: Vec<Vec<_>>| {
            found.extend(rows.into_iter().map(|row| format!("{row:?}")));
            Ok(())
        };
        read_rows(&connection, &table, 100, keep).unwrap();
        found.sort();
        all.insert(table.name, found);
    }
    all
}

/// Every row that was there before is there now, perhaps with more columns at its end.
fn assert_kept(before: &Rows, after: &Rows, from: usize) {
    for (table, rows) in before {
        let now = &after[table];
        assert_eq!(rows.len(), now.len(), "{table} of schema {from}");
        for (row, now) in rows.iter().zip(now) {
            assert!(now.starts_with(row.trim_end_matches(']')), "{table} of schema {from}: {row} became {now}");
        }
    }
}

fn version_of(path: &Path) -> i64 {
    let connection = open_reader(path).unwrap();
    connection.query_row("SELECT MAX(version) FROM schema_migrations", [], |row| row.get(0)).unwrap()
}

fn the_copy_in(folder: &Path, from: usize) -> PathBuf {
    let copy = folder.join(format!("before-upgrade-from-schema-{from}-1.db"));
    assert!(copy.is_file(), "{}", copy.display());
    copy
}

struct Verify;

impl Operation for Verify {
    type Output = u64;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<u64> {
        let (position, fault) = tx.verify_audit(ChainPosition::default(), 10_000).await?;
        assert_eq!(fault, None);
        Ok(position.rows)
    }
}

async fn verified(store: &Store, from: usize) {
    let rows = store.scan(Verify).await.unwrap();
    assert_eq!(rows > 0, from >= FIXTURE_VERSION, "the chains hold, and there are some since schema 3");
}

#[tokio::test]
async fn a_house_of_every_earlier_schema_keeps_its_rows_and_can_go_back() {
    for from in 1..MIGRATIONS.len() {
        if testkit::on_postgres() { there_and_back_on_postgres(from).await } else { there_and_back(from).await }
    }
}

async fn there_and_back(from: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = house_of(folder.path(), &MIGRATIONS[..from]);
    let before = rows_of(&path);
    let store = Store::open(Options::new(Storage::Sqlite(path.clone()))).await.unwrap();
    verified(&store, from).await;
    store.close().await;
    assert_eq!(version_of(&path), MIGRATIONS.last().unwrap().version);
    assert_kept(&before, &rows_of(&path), from);
    // The way back: the copy in place of the file, and the version that was there before.
    let copy = the_copy_in(&folder.path().join("backups"), from);
    std::fs::rename(&copy, &path).unwrap();
    migrate(&mut open_writer(&path).unwrap(), &path, &MIGRATIONS[..from]).unwrap();
    assert_eq!((version_of(&path), rows_of(&path)), (from as i64, before));
}

/// What PostgreSQL has, by way of a copy.
async fn rows_in(store: &Store, folder: &TempDir, name: &str) -> Rows {
    let path = folder.path().join(name);
    store.copy_to(path.clone()).await.unwrap();
    rows_of(&path)
}

async fn there_and_back_on_postgres(from: usize) {
    let folder = tempfile::tempdir().unwrap();
    let url = testkit::new_storage().await.unwrap();
    let file = house_of(folder.path(), &MIGRATIONS[..from]);
    let before = rows_of(&file);
    from_file(&url, &file, &MIGRATIONS[..from]).await.unwrap();
    let copies = folder.path().join("copies");
    let storage = Storage::Postgres { url, copies: copies.clone() };
    let store = Store::open(Options::new(storage)).await.unwrap();
    verified(&store, from).await;
    assert_kept(&before, &rows_in(&store, &folder, "after.db").await, from);
    store.close().await;
    // The way back: an empty database, filled from the copy by the version that was there before.
    let copy = the_copy_in(&copies, from);
    assert_eq!((version_of(&copy), rows_of(&copy)), (from as i64, before));
    let empty = testkit::new_storage().await.unwrap();
    from_file(&empty, &copy, &MIGRATIONS[..from]).await.unwrap();
}
