//! A disk without room: a small tmpfs, most of it taken by a ballast file. Writes are refused with STORAGE_FULL, reads
//! go on, and writes resume by themselves when the ballast goes.

use super::{Probe, wait_until};
use crate::it::binary::Server;
use crate::it::load::Load;
use crate::it::records::{Record, times};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const CLIENTS: usize = 4;
/// Room for what a long run writes.
const DISK_KIB: u64 = 96 * 1024;

/// A disk of our own. Only root can make one.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={DISK_KIB}k,mode=700");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &options, "longhouse-test"]).arg(folder.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder });
        }
        assert!(std::env::var_os("CI").is_none(), "a small disk cannot be mounted");
        eprintln!("skipped: only root may mount a small disk");
        None
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Takes all room but so much.
    fn fill(&self, leaving_kib: u64) {
        let ballast = self.folder.path().join("ballast");
        let _ = std::fs::remove_file(&ballast);
        let free_kib = free_kib(self.folder.path());
        std::fs::write(&ballast, vec![b'x'; usize::try_from((free_kib - leaving_kib) * 1024).unwrap()]).unwrap();
    }

    fn free(&self) {
        std::fs::remove_file(self.folder.path().join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

fn free_kib(path: &Path) -> u64 {
    let output = Command::new("df").args(["-k", "--output=avail"]).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().nth(1).unwrap().trim().parse().unwrap()
}

#[test]
fn on_a_full_disk_reads_go_on_and_writes_resume_when_there_is_room() {
    let Some(disk) = Disk::mount() else { return };
    let data = disk.data();
    let mut server = Server::start(&data);
    let mut load = Load::new(&data, CLIENTS);
    let probe = Probe::new(&data);
    let mut record = Record::new("full-disk", "a full disk, then room again");
    for round in 0..times(6, 60) {
        let value = format!("round {round}");
        assert_eq!(probe.write(&server, &value).0, 200);
        disk.fill(40 + 300 * (round % 4));
        let url = server.url.clone();
        load.run(&url, || {
            let full = (507, "STORAGE_FULL".to_owned());
            wait_until("the disk is full", || probe.write(&server, &value.repeat(60)) == full);
            wait_until("health tells", || server.health().as_deref() == Some("degraded"));
            assert!(probe.read(&server).is_some_and(|found| found.starts_with(&value)), "reads are served");
            if round % 2 == 0 {
                disk.free();
                wait_until("writes resume", || probe.write(&server, &value).0 == 200);
                wait_until("it is healthy", || server.health().as_deref() == Some("healthy"));
                std::thread::sleep(Duration::from_millis(50));
            }
            server.kill();
        });
        if round % 2 == 1 {
            // It says that it cannot start, or serves what it can.
            if let Ok(on_full_disk) = Server::try_start(&data) {
                assert!(probe.read(&on_full_disk).is_some_and(|found| found.starts_with(&value)));
                on_full_disk.kill();
            }
            disk.free();
        }
        server = Server::start(&data);
        record.round(server.ready);
        load.check(&server);
        load.check_record(&server);
        load.renew(&data);
    }
    let tally = load.finish();
    assert!(tally.acknowledged > 0 && tally.refused > 0, "the load was real: {tally:?}");
    record.finish(&tally);
}
