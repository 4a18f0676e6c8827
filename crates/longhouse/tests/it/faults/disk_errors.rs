//! A disk that answers with an error or has no room, once or from then on. Nothing is acknowledged that is not on
//! disk, the health page says so, and a fault that passes is recovered from without help.

use super::strace::{self, DATABASE, Failure, LOG};
use super::{Probe, wait_until};
use crate::it::binary::{Server, ok};
use crate::it::load::Load;
use crate::it::records::{Record, times};
use std::path::{Path, PathBuf};
use std::time::Duration;

const CLIENTS: usize = 4;
const BOTH: &[&str] = &[DATABASE, LOG];

/// A house that is started under faults again and again.
struct Scene {
    folder: tempfile::TempDir,
    load: Load,
    record: Record,
}

impl Scene {
    fn new(record: Record) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&folder.path().join("data"));
        let load = Load::new(&folder.path().join("data"), CLIENTS);
        assert_eq!(server.terminate(), Some(0));
        Self { folder, load, record }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts with a fault to come, lets `during` look at it under load, then kills and checks without the fault.
    fn round(&mut self, failure: Failure, during: impl FnOnce(&Server, &Path)) {
        let (data, journal) = (self.data(), self.folder.path().join("journal"));
        let server = Server::start_traced(&data, &strace::fail(&data, &journal, failure)).expect("ready");
        let url = server.url.clone();
        self.load.run(&url, || {
            wait_until("the fault comes", || strace::has_failed(&journal));
            during(&server, &data);
            server.kill();
        });
        let server = Server::start(&data);
        self.record.round(server.ready);
        self.load.check(&server);
        self.load.check_record(&server);
        self.load.renew(&data);
        server.kill();
    }

    fn finish(self) {
        let tally = self.load.finish();
        assert!(tally.acknowledged >= self.record.rounds, "the load was real: {tally:?}");
        self.record.finish(&tally);
    }
}

#[test]
fn after_one_failed_write_or_sync_it_recovers_by_itself() {
    let mut scene = Scene::new(Record::new("disk-error-once", "EIO or ENOSPC once, at the n-th write or sync"));
    let probe = Probe::new(&scene.data());
    for n in (0..times(3, 25)).map(|n| 9 + 23 * n) {
        for (call, error) in
            [("fdatasync", "EIO"), ("fdatasync", "ENOSPC"), ("pwrite64", "EIO"), ("pwrite64", "ENOSPC")]
        {
            let failure = Failure { call, error, files: BOTH, n, lasting: false };
            scene.round(failure, |server, _| {
                wait_until("it takes writes again", || probe.write(server, call).0 == 200);
                wait_until("it is healthy again", || server.health().as_deref() == Some("healthy"));
                std::thread::sleep(Duration::from_millis(50));
            });
        }
    }
    scene.finish();
}

#[test]
fn while_the_disk_fails_nothing_is_acknowledged_and_health_says_so() {
    let mut scene = Scene::new(Record::new("disk-error-lasting", "EIO or ENOSPC from the n-th write or sync on"));
    let probe = Probe::new(&scene.data());
    ok(&scene.data(), &["context", "write", "-s", "probe", "probe", "before"]);
    let cases = [
        ("fdatasync", "EIO", 503, "UNAVAILABLE", "unhealthy"),
        ("fdatasync", "ENOSPC", 503, "UNAVAILABLE", "unhealthy"),
        ("pwrite64", "EIO", 503, "UNAVAILABLE", "unhealthy"),
        ("pwrite64", "ENOSPC", 507, "STORAGE_FULL", "degraded"),
    ];
    for n in (0..times(1, 10)).map(|n| 57 + 41 * n) {
        for (call, error, status, code, health) in cases {
            let failure = Failure { call, error, files: BOTH, n, lasting: true };
            scene.round(failure, |server, _| {
                // The fault comes to each thread when it has written so often.
                let fails = || probe.write(server, call) == (status, code.to_owned());
                wait_until("it comes to all that write", || (0..8).all(|_| fails()));
                wait_until("health tells", || server.health().as_deref() == Some(health));
                // A write before the fault came to all threads may have been taken.
                let read = probe.read(server);
                let known = ["before", "fdatasync", "pwrite64"];
                assert!(read.as_deref().is_some_and(|value| known.contains(&value)), "reads are served: {read:?}");
                for _ in 0..4 {
                    assert_eq!(probe.write(server, call), (status, code.to_owned()), "{failure:?}");
                    assert_eq!(server.health().as_deref(), Some(health), "{failure:?}");
                }
            });
        }
    }
    scene.finish();
}

#[test]
fn a_log_that_cannot_be_moved_into_the_database_loses_nothing() {
    let mut scene = Scene::new(Record::new("disk-error-checkpoint", "EIO when the log is moved into the database"));
    for lasting in [false, true] {
        for (call, n) in [("pwrite64", 1), ("pwrite64", 200), ("fdatasync", 1)] {
            let failure = Failure { call, error: "EIO", files: &[DATABASE], n, lasting };
            scene.round(failure, |_, _| std::thread::sleep(Duration::from_millis(300)));
        }
    }
    scene.finish();
}
