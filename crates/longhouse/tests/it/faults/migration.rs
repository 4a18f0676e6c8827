//! Killing an upgrade: a database of an older schema is brought up to date, and the process dies on the way.

use crate::it::binary::{Server, run};
use crate::it::load::Load;
use crate::it::oracle::{Moment, Tally};
use crate::it::records::{Record, times};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const CLIENTS: usize = 4;
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults/older_schema.py");
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/migrations/sqlite");

fn python(command: &str, data: &Path) -> String {
    let output = Command::new("python3").args([SCRIPT, command]).arg(data).arg(MIGRATIONS).output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Whether the upgrade has happened. Each of its steps has, wholly, or has not.
fn is_upgraded(data: &Path) -> bool {
    let aside = tempfile::tempdir().unwrap();
    copy(data, aside.path());
    python("look", aside.path()) == "0"
}

/// Kills an upgrade of a copy of `older` at the n-th call, and upgrades it then. Gives what was wrong.
fn killed_at(older: &Path, load: &Load, call: &str, n: u64, record: &mut Record) -> (bool, Tally) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    copy(older, &data);
    let options =
        ["-e", &format!("trace={call}"), "-o", "/dev/null", &format!("--inject={call}:signal=SIGKILL:when={n}")];
    let killed = match Server::start_traced(&data, &options.map(str::to_owned)) {
        Ok(server) => {
            server.kill();
            false
        }
        Err(_) => true,
    };
    is_upgraded(&data);
    let server = Server::start(&data);
    record.round(server.ready);
    assert!(run(&data, &["doctor"]).status.success(), "killed at {call} {n}");
    (killed, load.check_at(&server, Moment::MAX))
}

#[test]
fn an_upgrade_that_is_killed_leaves_the_old_schema_or_the_new_and_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let older = folder.path().join("older");
    let server = Server::start(&older);
    let mut load = Load::new(&older, CLIENTS);
    load.run(&server.url, || std::thread::sleep(Duration::from_millis(400)));
    assert_eq!(server.terminate(), Some(0));
    python("make", &older);
    assert!(!is_upgraded(&older));
    let mut record = Record::new("kill-upgrade", "SIGKILL at the n-th write or sync of an upgrade");
    let mut total = Tally::default();
    let mut kills = 0;
    let writes = (0..times(12, 120)).map(|n| ("pwrite64", 1 + n * 131 % 307));
    let syncs = (1..=times(12, 30)).map(|n| ("fdatasync,fsync", n));
    for (call, n) in writes.chain(syncs) {
        let (killed, tally) = killed_at(&older, &load, call, n, &mut record);
        kills += u64::from(killed);
        total.add(tally);
    }
    assert!(kills > 5, "an upgrade has at least so many writes and syncs: {kills}");
    record.note("killed", kills);
    total.acknowledged = load.finish().acknowledged;
    record.finish(&total);
}
