//! Faults with the rows in PostgreSQL, judged by the same oracle, and moving from one engine to the other.

use super::binary::{Server, keep_rows_elsewhere, ok, run};
use super::door::Door;
use super::load::Load;
use super::postgres::Postgres;
use super::records::{Record, times};
use super::small_disk::Disk;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::Random;

const CLIENTS: usize = 8;

/// A house in a folder whose rows are in a new database.
fn house_on(postgres: &Postgres, data: &Path) -> Server {
    keep_rows_elsewhere(data, &postgres.url());
    Server::start(data)
}

#[test]
fn whatever_was_acknowledged_is_in_postgresql_after_kill_9() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let data = folder.path();
    let mut server = house_on(&postgres, data);
    let mut load = Load::new(data, CLIENTS);
    let mut record = Record::new("postgres-kill-9", "kill -9 of Longhouse at random moments");
    let mut chance = Random::new(15);
    for kill in 1..=times(30, 300) {
        load.run_and_kill(server, Duration::from_micros(5_000 + chance.below(250_000)));
        server = Server::start(data);
        record.round(server.ready);
        load.check(&server);
        if kill % 15 == 0 {
            load.check_record(&server);
            load.renew(data);
        }
    }
    record.finish(&load.finish());
}

#[test]
fn when_postgresql_is_killed_longhouse_refuses_and_goes_on_when_it_is_back() {
    let (mut postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let data = folder.path();
    let server = house_on(&postgres, data);
    let mut load = Load::new(data, CLIENTS);
    let mut record = Record::new("postgres-killed", "kill -9 of PostgreSQL at random moments");
    let mut chance = Random::new(16);
    for _ in 0..times(10, 100) {
        load.run(&server.url, || {
            std::thread::sleep(Duration::from_micros(20_000 + chance.below(250_000)));
            postgres.kill();
            std::thread::sleep(Duration::from_millis(chance.below(300)));
            let down = Instant::now();
            postgres.start_again();
            wait_until_well(&server);
            record.round(down.elapsed());
            std::thread::sleep(Duration::from_millis(100));
        });
        load.check(&server);
    }
    load.check_record(&server);
    let tally = load.finish();
    assert!(tally.refused > 0, "some were told that it cannot be done now");
    record.finish(&tally);
}

fn wait_until_well(server: &Server) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while ureq::get(format!("{}/health", server.url)).call().is_err() {
        assert!(Instant::now() < deadline, "it does not recover");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Text that PostgreSQL cannot make smaller.
fn noise(chance: &mut Random, length: usize) -> String {
    std::iter::repeat_with(|| format!("{:016x}", chance.draw())).take(length / 16).collect()
}

#[test]
fn when_the_disk_of_postgresql_is_full_nothing_is_acknowledged_that_is_not_kept() {
    let Some(disk) = Disk::mount() else { return };
    std::fs::create_dir(disk.data()).unwrap();
    let small_log = ["--wal-segsize=1"];
    let postgres = Postgres::start_in(tempfile::tempdir_in(disk.data()).unwrap(), &small_log);
    postgres.execute("ALTER SYSTEM SET max_wal_size = '8MB'");
    postgres.execute("SELECT pg_reload_conf()");
    let folder = tempfile::tempdir().unwrap();
    let server = house_on(&postgres, folder.path());
    let token = server.token();
    server.cli(&[
        "session",
        "create",
        "s",
        "--settings",
        r#"{"max_store_tokens": 1000000, "max_value_tokens": 100000}"#,
    ]);
    disk.fill(6 * 1024);
    let (door, mut chance) = (Door::new(&server.url, &token), Random::new(17));
    let write = |key: &str, value: &str| {
        door.ask("s", &json!({"action": "write", "key": key, "value": value})).expect("an answer")
    };
    let mut acknowledged = BTreeMap::new();
    let refused = (0..2_000).find_map(|number| {
        let (key, value) = (format!("k{}", number % 100), noise(&mut chance, 8_000));
        let (status, answer) = write(&key, &value);
        if status == 200 {
            acknowledged.insert(key, value);
            return None;
        }
        acknowledged.remove(&key);
        Some((status, answer))
    });
    let (status, answer) = refused.expect("the disk is soon full");
    assert!(matches!(status, 503 | 507), "{status} {answer}");
    disk.free();
    let deadline = Instant::now() + Duration::from_secs(30);
    while write("after", "room again").0 != 200 {
        assert!(Instant::now() < deadline, "writes resume by themselves");
        std::thread::sleep(Duration::from_millis(50));
    }
    for (key, value) in &acknowledged {
        let (_, found) = door.ask("s", &json!({"action": "read", "key": key})).expect("an answer");
        assert_eq!(found["value"].as_str(), Some(value.as_str()), "{key} was acknowledged");
    }
    server.cli(&["doctor"]);
}

#[test]
fn a_second_longhouse_on_the_same_database_is_refused() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let _server = house_on(&postgres, &first);
    keep_rows_elsewhere(&second, &postgres.url());
    let output = run(&second, &["serve", "--listen", "127.0.0.1:0"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && words.contains("in use by another Longhouse"), "{words}");
}

#[test]
fn a_lock_that_was_lost_is_taken_again() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let server = house_on(&postgres, folder.path());
    let holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted";
    let first = postgres.ask(holders);
    assert!(!first.is_empty(), "it holds its lock");
    postgres.execute(&format!("SELECT pg_terminate_backend({first})"));
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let now = postgres.ask(holders);
        if !now.is_empty() && now != first {
            break;
        }
        assert!(Instant::now() < deadline, "nobody holds it");
        std::thread::sleep(Duration::from_millis(50));
    }
    wait_until_well(&server);
    server.cli(&["session", "create", "s"]);
}

#[test]
fn a_house_moves_from_a_file_to_postgresql_and_back_by_way_of_backups() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let place = |name: &str| folder.path().join(name);
    let server = Server::start(&place("file"));
    let mut load = Load::new(&place("file"), CLIENTS);
    load.run(&server.url, || std::thread::sleep(Duration::from_millis(500)));
    load.check(&server);
    server.cli(&["backup", place("backup-1").to_str().unwrap()]);
    drop(server);
    for number in 1..=4 {
        let (data, backup) = (place(&format!("house-{number}")), place(&format!("backup-{number}")));
        if number % 2 == 1 {
            postgres.execute(&format!("CREATE DATABASE house{number}"));
            keep_rows_elsewhere(&data, &postgres.database(&format!("house{number}")));
        }
        ok(&data, &["restore", backup.to_str().unwrap()]);
        let server = Server::start(&data);
        load.check(&server);
        load.check_record(&server);
        // It goes on where it was: numbers of events and revs continue.
        load.run(&server.url, || std::thread::sleep(Duration::from_millis(200)));
        load.check(&server);
        server.cli(&["backup", place(&format!("backup-{}", number + 1)).to_str().unwrap()]);
    }
    load.finish().assert_clean();
}

#[test]
fn a_backup_under_load_is_one_moment_of_the_database() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let place = |name: String| folder.path().join(name);
    let data = place("house".into());
    let server = house_on(&postgres, &data);
    let mut load = Load::new(&data, CLIENTS);
    load.run(&server.url, || {
        for number in 0..5 {
            std::thread::sleep(Duration::from_millis(50));
            server.cli(&["backup", place(format!("backup-{number}")).to_str().unwrap()]);
        }
    });
    load.check(&server);
    for number in 0..5 {
        let copy = place(format!("copy-{number}"));
        ok(&copy, &["restore", place(format!("backup-{number}")).to_str().unwrap()]);
        assert!(ok(&copy, &["audit", "verify"]).starts_with("intact"));
        ok(&copy, &["doctor"]);
    }
    load.finish().assert_clean();
}

#[test]
fn what_cannot_be_used_is_refused_with_a_sentence_and_without_the_password() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let bad = [
        ("mysql://u:hunter2@localhost/x".to_owned(), "LONGHOUSE_STORAGE_URL"),
        ("postgres://u:hunter2@127.0.0.1:1/x".to_owned(), "cannot be reached"),
        (format!("{}?sslmode=nonsense", postgres.url()), "LONGHOUSE_STORAGE_URL"),
        (postgres.database("missing"), "missing"),
        (format!("{}?sslpassword=hunter2", postgres.url()), "sslpassword"),
    ];
    for (number, (url, expected)) in bad.iter().enumerate() {
        let data = folder.path().join(number.to_string());
        keep_rows_elsewhere(&data, url);
        let output = run(&data, &["serve", "--listen", "127.0.0.1:0"]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && words.contains(expected), "{url}: {words}");
        assert!(!words.contains("hunter2"), "{words}");
    }
    postgres.execute("CREATE TABLE somebody_elses (a TEXT)");
    let data = folder.path().join("foreign");
    keep_rows_elsewhere(&data, &postgres.url());
    let words = String::from_utf8_lossy(&run(&data, &["session", "create", "s"]).stderr).into_owned();
    assert!(words.contains("another program keeps tables"), "{words}");
}

#[test]
fn a_house_does_not_change_its_engine_by_accident() {
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let (file, elsewhere) = (folder.path().join("file"), folder.path().join("elsewhere"));
    ok(&file, &["session", "create", "s"]);
    keep_rows_elsewhere(&file, &postgres.url());
    let words = String::from_utf8_lossy(&run(&file, &["session", "list"]).stderr).into_owned();
    assert!(words.contains("keeps its rows in a file"), "{words}");
    keep_rows_elsewhere(&elsewhere, &postgres.url());
    ok(&elsewhere, &["session", "create", "s"]);
    postgres.execute("CREATE DATABASE empty");
    keep_rows_elsewhere(&elsewhere, &postgres.database("empty"));
    let words = String::from_utf8_lossy(&run(&elsewhere, &["session", "list"]).stderr).into_owned();
    assert!(words.contains("is LONGHOUSE_STORAGE_URL the right one?"), "{words}");
    keep_rows_elsewhere(&elsewhere, "sqlite");
    let words = String::from_utf8_lossy(&run(&elsewhere, &["session", "list"]).stderr).into_owned();
    assert!(words.contains("keeps its rows in PostgreSQL"), "{words}");
}
