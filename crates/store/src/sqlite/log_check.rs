//! Looks at the log before SQLite does. SQLite takes the first frame that does not hold for the end of the log: right
//! after a power cut, when that frame belongs to a commit nobody was told of, and a silent loss of everything behind it
//! when the disk has damaged a frame later.
//!
//! The two can be told apart: a commit is synced before the next one begins, so at most one commit can stand behind (or
//! be) a frame that a power cut left unwritten. Two or more mean damage. Damage to the very last commit cannot be seen.
//! That holds for a log that was never recovered from before, so every start empties it.

use crate::{Error, Result};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;
/// The last bit of the magic number: checksums are over big-endian words.
const BIG_ENDIAN: u32 = 1;

pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// An error if the log of this database has lost commits in its middle. Answers whether there is a log.
pub(crate) fn check(database: &Path) -> Result<bool> {
    let path = log_of(database);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match commits_behind_damage(BufReader::with_capacity(1 << 20, file))? {
        0 | 1 => Ok(true),
        _ => Err(Error::DamagedLog(path)),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |word, byte| (word << 8) | u32::from(*byte))
}

/// SQLite's running checksum over pairs of words.
fn running(big_endian: bool, mut sums: (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        let (first, second) = (word(pair, 0), word(pair, 4));
        let (first, second) = if big_endian { (first, second) } else { (first.swap_bytes(), second.swap_bytes()) };
        sums.0 = sums.0.wrapping_add(first).wrapping_add(sums.1);
        sums.1 = sums.1.wrapping_add(second).wrapping_add(sums.0);
    }
    sums
}

fn read_whole(log: &mut impl Read, buffer: &mut [u8]) -> Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How many commits of the present log stand at or behind its first frame that does not hold.
fn commits_behind_damage(mut log: impl Read) -> Result<u64> {
    let mut header = [0; HEADER];
    if !read_whole(&mut log, &mut header)? || header.iter().all(|byte| *byte == 0) {
        return Ok(0);
    }
    let big_endian = word(&header, 0) & BIG_ENDIAN != 0;
    let mut sums = running(big_endian, (0, 0), &header[..24]);
    let is_whole = word(&header, 0) & !BIG_ENDIAN == MAGIC && sums == (word(&header, 24), word(&header, 28));
    let page = word(&header, 8) as usize;
    if !is_whole || !page.is_power_of_two() || !(512..=65_536).contains(&page) {
        // The header lies in one sector and was synced before the first frame: it is never half written.
        return Ok(u64::MAX);
    }
    let mut frame = vec![0; FRAME_HEADER + page];
    let (mut holds, mut commits) = (true, 0);
    while read_whole(&mut log, &mut frame)? {
        let is_present = frame[8..16] == header[16..24];
        if holds {
            let next = running(big_endian, running(big_endian, sums, &frame[..8]), &frame[FRAME_HEADER..]);
            holds = is_present && next == (word(&frame, 16), word(&frame, 20));
            sums = next;
        }
        let is_commit = word(&frame, 4) != 0;
        commits += u64::from(!holds && is_present && is_commit);
    }
    Ok(commits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::open_writer;
    use rusqlite::Connection;

    /// A log of a few commits, as a process that was killed leaves it.
    fn log(folder: &Path, commits: usize) -> (Connection, Vec<u8>) {
        let path = folder.join("rows.db");
        let connection = open_writer(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (a TEXT)").unwrap();
        for _ in 0..commits {
            connection.execute("INSERT INTO t VALUES ('x')", []).unwrap();
        }
        let bytes = std::fs::read(log_of(&path)).unwrap();
        (connection, bytes)
    }

    fn behind(bytes: &[u8]) -> u64 {
        commits_behind_damage(bytes).unwrap()
    }

    #[test]
    fn a_log_that_was_left_behind_holds_whole_or_cut_off_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        let (_connection, bytes) = log(folder.path(), 10);
        assert_eq!((behind(&bytes), behind(&[])), (0, 0));
        for end in (0..bytes.len()).step_by(997) {
            assert!(behind(&bytes[..end]) <= 1, "{end}");
        }
    }

    #[test]
    fn a_byte_that_changed_is_found_unless_it_is_in_the_last_commit() {
        let folder = tempfile::tempdir().unwrap();
        let (_connection, bytes) = log(folder.path(), 10);
        let frame = FRAME_HEADER + 2_048;
        let last = bytes.len() - frame;
        for at in (0..last - frame).step_by(61) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(behind(&damaged) >= 2, "byte {at} of {}", bytes.len());
        }
        let mut torn = bytes;
        torn[last + 100] ^= 0x10;
        assert_eq!(behind(&torn), 1, "this could be a power cut");
    }

    #[test]
    fn frames_of_an_earlier_log_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (connection, before) = log(folder.path(), 10);
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        connection.execute("INSERT INTO t VALUES ('y')", []).unwrap();
        let bytes = std::fs::read(log_of(&folder.path().join("rows.db"))).unwrap();
        assert_eq!((bytes.len(), behind(&bytes)), (before.len(), 0));
    }
}
