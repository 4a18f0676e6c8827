//! Power cuts. Everything the server does to its files under load is recorded; then its folder is rebuilt as a disk
//! would have it after a cut at some moment: what was synced is there, the rest kept, dropped or torn by chance. A
//! server started on it must know everything that was acknowledged before that moment.

mod disk;
mod trace;

use crate::it::binary::{Server, run};
use crate::it::load::Load;
use crate::it::oracle::{Moment, Tally};
use crate::it::records::{Record, times};
use disk::Disk;
use std::path::Path;
use std::time::Duration;
use testkit::Random;
use trace::{Act, Event};

const CLIENTS: usize = 4;
const LOG: &str = "longhouse.db-wal";

/// From the first start on an empty folder: a load, a clean stop, and a second load.
fn record_a_load(folder: &Path) -> (Load, Vec<Event>) {
    let data = folder.join("data");
    let mut events = Vec::new();
    let start = |part: &str| {
        let prefix = folder.join(part);
        (Server::start_traced(&data, &trace::options(&data, &prefix)).expect("ready"), prefix)
    };
    let (server, prefix) = start("first");
    let mut load = Load::new(&data, CLIENTS);
    // Until the log was moved into the database for the first time, and a little on.
    let has_moved = || std::fs::metadata(data.join("longhouse.db")).is_ok_and(|file| file.len() > 100_000);
    load.run(&server.url, || {
        super::wait_until("the log is moved", has_moved);
        std::thread::sleep(Duration::from_millis(200));
    });
    assert_eq!(server.terminate(), Some(0));
    events.extend(trace::read(&data, &prefix));
    let (server, prefix) = start("second");
    load.run_and_kill(server, Duration::from_millis(700));
    events.extend(trace::read(&data, &prefix));
    (load, events)
}

/// Half of the moments while the log is moved into the database, as far as there are such.
fn moments(events: &[Event], count: u64, chance: &mut Random) -> Vec<usize> {
    let moving: Vec<usize> = (1..events.len()).filter(|at| events[*at].file == "longhouse.db").collect();
    let mut moments: Vec<usize> = (0..count)
        .map(|n| if n % 2 == 0 { moving[chance.index(moving.len())] } else { 1 + chance.index(events.len() - 1) })
        .collect();
    moments.sort_unstable();
    moments
}

/// Starts a server on what a disk has, and asks the oracle. The error: it refuses to start, or its doctor complains.
fn examine(load: &Load, surface: &disk::Surface, moment: Moment) -> Result<(Tally, Duration), String> {
    let folder = tempfile::tempdir().unwrap();
    surface.write(folder.path());
    let server = Server::try_start(folder.path()).map_err(|ended| format!("it does not start: {ended:?}"))?;
    let tally = load.check_at(&server, moment);
    let doctor = run(folder.path(), &["doctor"]);
    if !doctor.status.success() {
        return Err(String::from_utf8_lossy(&doctor.stdout).into_owned());
    }
    Ok((tally, server.ready))
}

#[test]
fn whatever_was_acknowledged_is_there_after_a_power_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (load, events) = record_a_load(folder.path());
    let mut record = Record::new("power-cut", "power cut: unsynced sectors kept, dropped or torn");
    let mut disk = Disk::default();
    let mut done = 0;
    let mut total = Tally::default();
    for (number, at) in moments(&events, times(40, 300), &mut Random::new(8)).into_iter().enumerate() {
        events[done..at].iter().for_each(|event| disk.apply(event));
        done = at;
        let seed = number as u64;
        let what = || format!("cut {number} (seed {seed}) before event {at} of {}: {:?}", events.len(), events[at]);
        let surface = disk.after_a_cut(&mut Random::new(seed));
        let examined = examine(&load, &surface, events[at].at);
        let (tally, ready) = examined.unwrap_or_else(|error| panic!("{}: {error}", what()));
        assert!(tally.wrong() == 0, "{}: {tally:?}", what());
        record.round(ready);
        total.add(tally);
    }
    record.note("events", events.len());
    the_control_is_caught(&load, &events);
    total.acknowledged = load.finish().acknowledged;
    assert!(total.acknowledged > 50, "the load was real: {total:?}");
    record.finish(&total);
}

/// The same with a disk that forgets what it had synced: the server starts and is whole, and only the oracle can tell.
fn the_control_is_caught(load: &Load, events: &[Event]) {
    let is_sync = |event: &Event| event.file == LOG && matches!(event.act, Act::Sync);
    let syncs: Vec<usize> = (0..events.len()).filter(|at| is_sync(&events[*at])).collect();
    let (lying_from, cut) = (syncs[syncs.len() / 4], syncs[syncs.len() / 4 + 20] + 1);
    let mut disk = Disk::default();
    events[..lying_from].iter().for_each(|event| disk.apply(event));
    let honest = examine(load, &disk.after_dropping_all(), events[lying_from].at).expect("it starts").0;
    assert_eq!(honest.wrong(), 0, "{honest:?}");
    let lying = examine(load, &disk.after_dropping_all(), events[cut].at).expect("it starts").0;
    assert!(lying.lost > 0, "twenty forgotten syncs must be noticed: {lying:?}");
}

#[test]
fn a_new_data_directory_is_on_disk_with_every_folder_above_it_that_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("above/data");
    let notes = folder.path().join("notes");
    let options = ["-y", "-e", "trace=mkdir,fsync", "-o", notes.to_str().unwrap()].map(str::to_owned);
    Server::start_traced(&data, &options).expect("ready").kill();
    let notes = std::fs::read_to_string(notes).unwrap();
    let line_of = |call: &str, path: &Path| {
        let marks = [format!("\"{}\"", path.display()), format!("<{}>", path.display())];
        notes.lines().position(|line| line.contains(call) && marks.iter().any(|mark| line.contains(mark)))
    };
    for made in [&data, data.parent().unwrap()] {
        let (made, synced) = (line_of("mkdir(", made), line_of("fsync(", made.parent().unwrap()));
        assert!(made.is_some() && synced > made, "{notes}");
    }
}
