//! A disk without room: a small tmpfs, most of it taken by a ballast file. Writes are refused with STORAGE_FULL, reads
//! go on, and writes resume by themselves when the ballast goes.

use super::{Probe, wait_until};
use crate::it::binary::Server;
use crate::it::load::Load;
use crate::it::records::{Record, times};
use crate::it::small_disk::Disk;
use std::time::Duration;

const CLIENTS: usize = 4;
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
