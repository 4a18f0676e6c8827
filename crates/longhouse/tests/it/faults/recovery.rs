//! Killing the recovery from a kill: again and again in the first milliseconds of a start, and at the writes by which
//! a start moves a long log into the database.

use super::strace;
use crate::it::binary::{Server, command};
use crate::it::load::Load;
use crate::it::records::{Record, times};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use testkit::Random;

const CLIENTS: usize = 8;

/// Works until the log is long, then kills: the next start has something to recover.
fn leave_a_long_log(data: &Path, load: &mut Load, server: Server) {
    // A clean stop takes the old log away: what is long afterwards is new.
    assert_eq!(server.terminate(), Some(0));
    let server = Server::start(data);
    let log = data.join("longhouse.db-wal");
    let is_long = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 6_000_000);
    let url = server.url.clone();
    load.run(&url, || {
        super::wait_until("the log is long", is_long);
        server.kill();
    });
}

#[test]
fn a_recovery_that_is_killed_again_and_again_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let mut load = Load::new(data, CLIENTS);
    let mut record = Record::new("kill-recovery", "kill -9 in the first milliseconds of a start, ten in a row");
    let mut chance = Random::new(5);
    for _ in 0..times(4, 40) {
        leave_a_long_log(data, &mut load, server);
        for _ in 0..10 {
            let mut start = command(data);
            start.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = start.spawn().unwrap();
            std::thread::sleep(Duration::from_micros(chance.below(14_000)));
            child.kill().unwrap();
            child.wait().unwrap();
            record.rounds += 1;
        }
        server = Server::start(data);
        record.ready(server.ready);
        load.check(&server);
        load.check_record(&server);
        load.renew(data);
    }
    record.finish(&load.finish());
}

#[test]
fn a_start_that_is_killed_while_it_moves_the_log_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let mut load = Load::new(data, CLIENTS);
    let mut record = Record::new("kill-first-writes", "SIGKILL at the n-th write or sync of a start with a long log");
    for n in 0..times(4, 40) {
        leave_a_long_log(data, &mut load, server);
        for (call, n) in [("pwrite64", 1 + n * 7), ("fdatasync", 1 + n % 4), ("ftruncate", 1), ("pwrite64", 3 + n * 97)]
        {
            // The first writes are those of the start; the rest come when it is ready.
            if let Ok(server) = Server::start_traced(data, &strace::kill(data, call, n)) {
                server.kill();
            }
            record.rounds += 1;
        }
        server = Server::start(data);
        record.ready(server.ready);
        load.check(&server);
        load.check_record(&server);
        load.renew(data);
    }
    record.finish(&load.finish());
}
