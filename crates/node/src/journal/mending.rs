//! A journal that could not be written goes on when that is possible again. All that counts is written anew beside it and takes
//! its place, so that nothing depends on what the failed write left behind: a torn line, a whole one that nobody relied on, or
//! nothing.

use super::lines::Chain;
use super::{Call, Journal, NAME, lines};
use crate::{Error, Result, directories};
use std::fmt::Display;
use std::fs::File;

impl Journal {
    /// Does nothing unless a write has failed. An error is that it still cannot be written.
    pub fn mend(&mut self, now_ms: i64) -> Result<()> {
        if self.stopped.is_none() {
            return Ok(());
        }
        let kept = self.calls.values().filter(|call| call.is_kept(now_ms)).flat_map(Call::records);
        let (chain, bytes) = lines::written(kept)?;
        let path = self.state.path().join(NAME);
        let prepared = directories::prepare(&path, &bytes);
        let replaced = prepared.and_then(|file| directories::put_in_place(&path).map(|()| file));
        let file = replaced.map_err(|error| self.stop(&error))?;
        self.go_on_in(file, bytes.len() as u64, chain, now_ms);
        tracing::info!("the journal is written again");
        Ok(())
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    pub(super) fn stop(&mut self, why: &impl Display) -> Error {
        let why = why.to_string();
        self.stopped = Some(why.clone());
        Error::JournalStopped(why)
    }

    /// Another file has taken the place of the journal's, with all that counts.
    pub(super) fn go_on_in(&mut self, file: File, length_bytes: u64, chain: Chain, now_ms: i64) {
        self.stopped = None;
        (self.file, self.length_bytes, self.chain) = (file, length_bytes, chain);
        self.calls.retain(|_, call| call.is_kept(now_ms));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::StateDirectory;
    use crate::journal::Step;
    use serde_json::{Value, json};
    use std::path::PathBuf;

    /// A disk without room: for what is appended at once, and for a new file until it is given back.
    pub(crate) struct FullDisk(PathBuf);

    impl FullDisk {
        pub(crate) fn under(journal: &mut Journal) -> Self {
            journal.file = File::options().write(true).open("/dev/full").unwrap();
            let beside = journal.state.path().join("journal.new");
            std::fs::create_dir(&beside).unwrap();
            Self(beside)
        }

        pub(crate) fn has_room_again(self) {
            std::fs::remove_dir(self.0).unwrap();
        }
    }

    type Take = fn(&mut Journal) -> Result<()>;
    const STEPS: [(Step, Take); 4] = [
        (Step::Intended, |journal| journal.intent("call", 1, "tool_execute_command", 1)),
        (Step::Begun, |journal| journal.begun("call", 1, None, 2)),
        (Step::Ended, |journal| journal.ended("call", 1, Some(json!({"success": true})), 3)),
        (Step::Told, |journal| journal.told("call", 1, 4)),
    ];

    fn kept(journal: &Journal) -> Vec<(String, Step, Option<Value>)> {
        journal.calls().map(|call| (call.id.clone(), call.step, call.result.clone())).collect()
    }

    #[test]
    fn a_full_disk_stops_the_journal_at_any_step_and_with_room_it_goes_on_with_all_that_happened() {
        for failing in 0..STEPS.len() {
            let folder = tempfile::tempdir().unwrap();
            let state = StateDirectory::open(&folder.path().join("state")).unwrap();
            let mut journal = Journal::open(&state, 0).unwrap();
            journal.intent("other", 1, "tool_read_file", 0).unwrap();
            STEPS[..failing].iter().for_each(|(_, take)| take(&mut journal).unwrap());
            let disk = FullDisk::under(&mut journal);
            let (step, take) = STEPS[failing];
            for _ in 0..2 {
                // What has happened is known, so the second time is out of order; what has not stays refused.
                let refused = take(&mut journal).unwrap_err().code();
                assert!(["JOURNAL_STOPPED", "OUT_OF_ORDER"].contains(&refused), "{refused} at {step:?}");
                assert_eq!(journal.intent("new", 1, "tool_read_file", 5).unwrap_err().code(), "JOURNAL_STOPPED");
            }
            let is_known = journal.call("call").is_some_and(|call| call.step == step);
            assert_eq!(is_known, step >= Step::Ended, "{step:?}");

            disk.has_room_again();
            journal.intent("new", 1, "tool_read_file", 5).unwrap();
            if !is_known {
                take(&mut journal).unwrap();
            }
            STEPS[failing + 1..].iter().for_each(|(_, take)| take(&mut journal).unwrap());
            let in_memory = kept(&journal);
            assert_eq!(in_memory[0], ("call".to_owned(), Step::Told, Some(json!({"success": true}))), "{step:?}");
            drop(journal);
            assert_eq!(kept(&Journal::open(&state, 6).unwrap()), in_memory, "{step:?}");
        }
    }

    #[test]
    fn whatever_a_failed_write_left_behind_is_not_gone_on_from() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&folder.path().join("state")).unwrap();
        let mut journal = Journal::open(&state, 0).unwrap();
        journal.intent("call", 1, "tool_execute_command", 0).unwrap();
        let path = state.path().join("journal");
        let whole = std::fs::read(&path).unwrap();
        // A record that reached the disk, and whose writer was told that it did not.
        let unacknowledged = journal.chain.next(&json!({"step": "begun", "call": "call", "attempt": 1, "at_ms": 1}));
        let unacknowledged = unacknowledged.unwrap().1;
        for left in [&b""[..], b"{\"step\":\"beg", b"\0\0\0", &unacknowledged] {
            std::fs::write(&path, [&whole[..], left].concat()).unwrap();
            journal.stop(&"for this test");
            journal.mend(1).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        journal.begun("call", 1, None, 2).unwrap();
        drop(journal);
        assert_eq!(Journal::open(&state, 3).unwrap().call("call").unwrap().step, Step::Begun);
    }
}
