//! Flipped bytes in the files of a stopped server. The rule: a read gives the right value or an error, or the start is
//! refused, or `longhouse doctor` complains; never a wrong answer that nobody can notice.
//!
//! SQLite has no checksums on its pages: our rows carry their own. It takes a damaged frame for the end of its log: we
//! look at the log before it does. What cannot be told is damage to the very last commit of a log that a kill left.

use super::strace::{DATABASE, LOG};
use super::wait_until;
use crate::it::binary::{Server, run};
use crate::it::load::Load;
use crate::it::oracle::Tally;
use crate::it::records::{Record, times};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use testkit::Random;

const CLIENTS: usize = 8;
const PAGE: usize = 2_048;

/// What became of files that were damaged one time after another.
#[derive(Debug, Default)]
struct Trials {
    refused_to_start: u64,
    /// Some answer was an error, or the doctor complained.
    told: u64,
    /// Every answer was right.
    unharmed: u64,
    /// An answer was wrong and nobody could tell.
    silent: u64,
    wrong: Tally,
}

fn copy(from: &Path, to: &Path) {
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o700)).unwrap();
    for name in [DATABASE, LOG, "secret.key"] {
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// One to four bytes of one page, or a sector of it.
fn flip(bytes: &mut [u8], chance: &mut Random) {
    let page = chance.index(bytes.len() / PAGE) * PAGE;
    let (start, length) = if chance.below(8) == 0 { (chance.index(4) * 512, 512) } else { (chance.index(PAGE - 4), 1) };
    let flipped = length.max(1 + chance.index(4));
    for byte in &mut bytes[page + start..page + start + flipped] {
        *byte ^= u8::try_from(1 + chance.below(255)).unwrap();
    }
}

fn try_flips(data: &Path, file: &str, load: &Load, record: &mut Record) -> Trials {
    let mut trials = Trials::default();
    for seed in 0..times(40, 400) {
        record.rounds += 1;
        let folder = tempfile::tempdir().unwrap();
        copy(data, folder.path());
        let path = folder.path().join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        // Of many commits the last is in the last quarter.
        let end = if file == LOG { bytes.len() / 4 * 3 } else { bytes.len() };
        flip(&mut bytes[..end], &mut Random::new(seed));
        std::fs::write(&path, bytes).unwrap();
        let Ok(mut server) = Server::start_unwell(folder.path()) else {
            trials.refused_to_start += 1;
            continue;
        };
        let (tally, failed) = load.read_each(&server);
        let complains = !run(folder.path(), &["doctor"]).status.success();
        assert!(!server.has_ended(Duration::ZERO), "seed {seed}: it goes on whatever it reads");
        match (failed > 0 || complains, tally.wrong() > 0) {
            (true, _) => trials.told += 1,
            (false, false) => trials.unharmed += 1,
            (false, true) => {
                trials.silent += 1;
                trials.wrong.add(tally);
            }
        }
    }
    trials
}

fn damage(file: &str, record: &mut Record) -> Trials {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let server = Server::start(data);
    let mut load = Load::new(data, CLIENTS);
    load.run(&server.url, || {
        // Long enough that no single commit is a quarter of it, and that more than the schema is in it.
        wait_until("a long log", || std::fs::metadata(data.join(LOG)).is_ok_and(|log| log.len() > 2_000_000));
    });
    // A clean stop leaves no log, a kill leaves most in it.
    match file {
        LOG => server.kill(),
        _ => assert_eq!(server.terminate(), Some(0)),
    }
    let mut trials = try_flips(data, file, &load, record);
    for (name, count) in
        [("refused_to_start", trials.refused_to_start), ("told", trials.told), ("silent", trials.silent)]
    {
        record.note(name, count);
    }
    trials.wrong.acknowledged = load.finish().acknowledged;
    trials
}

#[test]
fn no_damage_to_the_database_gives_a_wrong_answer_that_nobody_can_notice() {
    let mut record = Record::new("damaged-database", "flipped bytes in the database");
    let trials = damage(DATABASE, &mut record);
    assert!(trials.told + trials.refused_to_start > 0, "{trials:?}");
    record.finish(&trials.wrong);
}

#[test]
fn a_log_that_is_damaged_before_its_last_commit_is_refused() {
    let mut record = Record::new("damaged-log", "flipped bytes in the log, but for its last commit");
    let trials = damage(LOG, &mut record);
    assert_eq!(trials.refused_to_start, record.rounds, "{trials:?}");
    record.finish(&trials.wrong);
}

#[test]
fn a_damaged_header_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Server::start(folder.path()).terminate(), Some(0));
    let path = folder.path().join(DATABASE);
    let whole = std::fs::read(&path).unwrap();
    // The name of the format, the size of a page, the mark that says whose file it is.
    for at in [0, 17, 70] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&path, bytes).unwrap();
        assert!(Server::try_start(folder.path()).is_err(), "byte {at}");
    }
    std::fs::write(&path, whole).unwrap();
    Server::start(folder.path());
}
