//! SIGKILL exactly when something is being put on disk: at the n-th sync of the log, and at the n-th write to it.

use super::strace;
use crate::it::binary::Server;
use crate::it::load::Load;
use crate::it::records::{Record, times};
use std::time::Duration;

const CLIENTS: usize = 4;

fn kill_at(name: &'static str, fault: &'static str, calls: &str, moments: impl Iterator<Item = u64>) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(data);
    let mut load = Load::new(data, CLIENTS);
    let mut record = Record::new(name, fault);
    assert_eq!(server.terminate(), Some(0));
    for moment in moments {
        let options = strace::kill(data, calls, moment);
        // The first few are reached before it is ready.
        if let Ok(mut traced) = Server::start_traced(data, &options) {
            let url = traced.url.clone();
            load.run(&url, || assert!(traced.has_ended(Duration::from_secs(20)), "call {moment} is reached"));
        }
        server = Server::start(data);
        record.round(server.ready);
        load.check(&server);
        if record.rounds.is_multiple_of(20) {
            load.check_record(&server);
            load.renew(data);
        }
        server.kill();
    }
    server = Server::start(data);
    load.check_record(&server);
    let tally = load.finish();
    assert!(tally.acknowledged >= record.rounds, "the load was real: {tally:?}");
    record.finish(&tally);
}

#[test]
fn a_kill_at_any_sync_loses_nothing() {
    let moments = (0..times(15, 100)).map(|n| 1 + n * n % 97 + n);
    kill_at("kill-at-sync", "SIGKILL at the n-th fdatasync", "fdatasync,fsync", moments);
}

#[test]
fn a_kill_at_any_write_loses_nothing() {
    let moments = (0..times(15, 100)).map(|n| 1 + n * 131 % 1_009);
    kill_at("kill-at-write", "SIGKILL at the n-th pwrite64", "pwrite64", moments);
}
