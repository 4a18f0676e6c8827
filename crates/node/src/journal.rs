//! What the node was told to do and how far it came, in a file that only grows. A record is on the disk before the step that it
//! announces is taken, so that after a crash nothing runs twice and nothing is claimed that nobody knows.
//!
//! Each line is a record and a checksum over it and the line before: a line that was lost, moved or changed is damage, and is not
//! guessed at. Only the last line may be torn, for it was never acknowledged.

mod compaction;
mod lines;
mod mending;

#[cfg(test)]
pub(crate) use mending::tests::FullDisk;

use crate::directories::{self, StateDirectory};
use crate::files::Files;
use crate::{Error, Result, Sha256};
use lines::Chain;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

const NAME: &str = "journal";
/// What the server has heard is remembered for so long.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// A journal that is larger is looked through for what need not be kept.
const LARGE_BYTES: u64 = 4 * 1024 * 1024;

/// What a file operation is about to do: enough to tell done from not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Relative to the root.
    pub path: String,
    /// None if there was no file.
    pub base_sha256: Option<Sha256>,
    /// None if there will be none.
    pub new_sha256: Option<Sha256>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "lowercase")]
enum Record {
    Intent { call: String, attempt: u64, tool: String, at_ms: i64 },
    Begun { call: String, attempt: u64, effect: Option<Effect>, at_ms: i64 },
    Ended { call: String, attempt: u64, result: Option<Value>, at_ms: i64 },
    Told { call: String, attempt: u64, at_ms: i64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Intended,
    Begun,
    Ended,
    Told,
}

/// How far a call came.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub id: String,
    pub attempt: u64,
    pub tool: String,
    pub step: Step,
    pub effect: Option<Effect>,
    /// As it was given to `ended`.
    pub result: Option<Value>,
    pub at_ms: i64,
    records: Vec<Record>,
}

/// What can be said of a call that was under way when the node died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCrash {
    NotBegun,
    Done,
    NotDone,
    Unknown,
}

pub struct Journal {
    file: File,
    length_bytes: u64,
    chain: Chain,
    calls: BTreeMap<String, Call>,
    limit_bytes: u64,
    /// How long it may become before it is looked through.
    looked_through_from_bytes: u64,
    /// Why a write failed. It may have left anything behind, and what follows it could not be read again.
    stopped: Option<String>,
    state: StateDirectory,
}

impl Journal {
    /// Reads what there is, drops what was never acknowledged and what was told long ago.
    pub fn open(state: &StateDirectory, now_ms: i64) -> Result<Self> {
        Self::with_limit(state, now_ms, LARGE_BYTES)
    }

    /// With another limit than 4 MiB.
    pub fn with_limit(state: &StateDirectory, now_ms: i64, limit_bytes: u64) -> Result<Self> {
        let path = state.path().join(NAME);
        let read = match directories::read(&path)? {
            Some(bytes) => lines::read(&bytes)?,
            None => {
                // By a rename, so that a journal without its first line is damage and not a beginning.
                directories::replace(&path, &Chain::begin().1)?;
                lines::Read {
                    records: Vec::new(),
                    chain: Chain::begin().0,
                    length_bytes: Chain::begin().1.len() as u64,
                }
            }
        };
        let mut calls = BTreeMap::new();
        for (number, record) in read.records.into_iter().enumerate() {
            apply(&mut calls, record).map_err(|_| Error::JournalDamaged { line: number + 2 })?;
        }
        let (mut chain, mut length_bytes) = (read.chain, read.length_bytes);
        let known = calls.len();
        calls.retain(|_, call: &mut Call| call.is_kept(now_ms));
        if calls.len() < known {
            let (compacted, bytes) = lines::written(calls.values().flat_map(Call::records))?;
            directories::replace(&path, &bytes)?;
            (chain, length_bytes) = (compacted, bytes.len() as u64);
        }
        let file = File::options().write(true).open(&path).map_err(Error::io("opening the journal"))?;
        let cut = file.set_len(length_bytes).and_then(|()| file.sync_all());
        cut.map_err(Error::io("dropping a torn record"))?;
        let looked_through_from_bytes = limit_bytes;
        let (stopped, state) = (None, state.clone());
        Ok(Self { file, length_bytes, chain, calls, limit_bytes, looked_through_from_bytes, stopped, state })
    }

    pub fn call(&self, id: &str) -> Option<&Call> {
        self.calls.get(id)
    }

    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.values()
    }

    /// Before the server is asked whether the call may run. The same again is no step; a call that began has no new attempt.
    pub fn intent(&mut self, call: &str, attempt: u64, tool: &str, now_ms: i64) -> Result<()> {
        if self.calls.get(call).is_some_and(|known| known.step == Step::Intended && known.attempt == attempt) {
            return Ok(());
        }
        self.append(&Record::Intent { call: call.to_owned(), attempt, tool: tool.to_owned(), at_ms: now_ms })
    }

    /// Before anything happens. Refused the second time, and so the second run.
    pub fn begun(&mut self, call: &str, attempt: u64, effect: Option<Effect>, now_ms: i64) -> Result<()> {
        self.append(&Record::Begun { call: call.to_owned(), attempt, effect, at_ms: now_ms })
    }

    /// Before the server is told. The result is what will be told again after a crash; one that can be had again without an
    /// effect, as what a file holds, need not be given.
    pub fn ended(&mut self, call: &str, attempt: u64, result: Option<Value>, now_ms: i64) -> Result<()> {
        self.append(&Record::Ended { call: call.to_owned(), attempt, result, at_ms: now_ms })
    }

    /// After the server has confirmed that it knows how the call ended, or that it no longer wants it.
    pub fn told(&mut self, call: &str, attempt: u64, now_ms: i64) -> Result<()> {
        self.append(&Record::Told { call: call.to_owned(), attempt, at_ms: now_ms })
    }

    fn append(&mut self, record: &Record) -> Result<()> {
        let mut checked =
            self.calls.get(record.call()).cloned().into_iter().map(|call| (call.id.clone(), call)).collect();
        apply(&mut checked, record.clone())?;
        let written = self.mend(record.at_ms()).and_then(|()| self.write(record));
        // What has happened is known here, also if it could not be put down: mending puts it down.
        if written.is_ok() || record.has_happened() {
            // One by one: `append` would build the whole map anew.
            self.calls.extend(checked);
        }
        written?;
        self.compact_if_large(record.at_ms());
        Ok(())
    }

    fn write(&mut self, record: &Record) -> Result<()> {
        let (chain, line) = self.chain.next(record)?;
        let written = self.file.seek(SeekFrom::Start(self.length_bytes));
        let written = written.and_then(|_| self.file.write_all(&line)).and_then(|()| self.file.sync_data());
        written.map_err(|error| self.stop(&error))?;
        self.length_bytes += line.len() as u64;
        self.chain = chain;
        Ok(())
    }
}

impl Record {
    /// Whether it says what was done, and not what is about to be.
    fn has_happened(&self) -> bool {
        matches!(self, Self::Ended { .. } | Self::Told { .. })
    }

    fn call(&self) -> &str {
        match self {
            Self::Intent { call, .. }
            | Self::Begun { call, .. }
            | Self::Ended { call, .. }
            | Self::Told { call, .. } => call,
        }
    }

    fn at_ms(&self) -> i64 {
        match self {
            Self::Intent { at_ms, .. }
            | Self::Begun { at_ms, .. }
            | Self::Ended { at_ms, .. }
            | Self::Told { at_ms, .. } => *at_ms,
        }
    }
}

/// Takes one step. The order of steps is the guarantee that nothing runs twice, so it is checked when written and when read.
fn apply(calls: &mut BTreeMap<String, Call>, record: Record) -> Result<()> {
    let id = record.call().to_owned();
    let known = calls.get_mut(&id);
    let kept = record.clone();
    let (call, step, at_ms) = match (record, known) {
        (Record::Intent { attempt, tool, at_ms, .. }, known) => {
            if known.is_some_and(|known| known.step != Step::Intended || known.attempt >= attempt) {
                return Err(Error::OutOfOrder("the call has begun, or has a later attempt"));
            }
            calls.insert(id.clone(), Call::intended(id, attempt, tool, kept, at_ms));
            return Ok(());
        }
        (_, None) => return Err(Error::OutOfOrder("there is no intent of that call")),
        (Record::Begun { attempt, effect, at_ms, .. }, Some(call)) => {
            if call.step != Step::Intended || call.attempt != attempt {
                return Err(Error::OutOfOrder("the call has begun before, or has another attempt"));
            }
            call.effect = effect;
            (call, Step::Begun, at_ms)
        }
        (Record::Ended { attempt, result, at_ms, .. }, Some(call)) => {
            if call.step >= Step::Ended || call.attempt != attempt {
                return Err(Error::OutOfOrder("the call has ended before, or has another attempt"));
            }
            call.result = result;
            (call, Step::Ended, at_ms)
        }
        (Record::Told { attempt, at_ms, .. }, Some(call)) => {
            if call.step == Step::Told || call.attempt != attempt {
                return Err(Error::OutOfOrder("the call was told before, or has another attempt"));
            }
            (call, Step::Told, at_ms)
        }
    };
    call.step = step;
    call.at_ms = at_ms;
    call.records.push(kept);
    Ok(())
}

impl Call {
    fn intended(id: String, attempt: u64, tool: String, record: Record, at_ms: i64) -> Self {
        Self { id, attempt, tool, step: Step::Intended, effect: None, result: None, at_ms, records: vec![record] }
    }

    fn records(&self) -> &[Record] {
        &self.records
    }

    /// Whether it may have had an effect here.
    pub fn has_begun(&self) -> bool {
        self.records.iter().any(|record| matches!(record, Record::Begun { .. }))
    }

    /// What the server has heard of is of no more use after a while.
    fn is_kept(&self, now_ms: i64) -> bool {
        self.step != Step::Told || self.at_ms.saturating_add(KEPT_MS) > now_ms
    }

    /// Looks at the file that the call was about to change. A command leaves nothing to look at.
    pub fn after_crash(&self, files: &Files) -> AfterCrash {
        match (self.step, &self.effect) {
            (Step::Intended, _) => AfterCrash::NotBegun,
            (Step::Ended | Step::Told, _) => AfterCrash::Done,
            (Step::Begun, None) => AfterCrash::Unknown,
            (Step::Begun, Some(effect)) => match files.sha256(&effect.path) {
                Ok(found) if found == effect.new_sha256 => AfterCrash::Done,
                Ok(found) if found == effect.base_sha256 => AfterCrash::NotDone,
                _ => AfterCrash::Unknown,
            },
        }
    }
}
