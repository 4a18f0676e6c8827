//! What a write, an edit or a delete replaced, kept so that a person can have it back: 7 days and 1 GiB, the oldest going first.
//!
//! The copy and then its description are synced before the change is committed, so whatever was replaced can be put back. A
//! copy that could not be made whole goes at once: on a full disk it would take the room that the journal needs. One that a crash
//! left without a description was never used and goes at the next start.

use crate::changes::{Base, Change};
use crate::directories::{self, StateDirectory};
use crate::files::{Changed, Files};
use crate::hashes;
use crate::{Error, Result, Sha256};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

const DIRECTORY: &str = "undo";
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
const KEPT_BYTES: u64 = 1 << 30;

/// How a file was before a call, and how the call left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    path: String,
    /// None if there was no file.
    before: Option<Before>,
    /// None if there was none afterwards.
    after_sha256: Option<Sha256>,
    at_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    sha256: Sha256,
    mode: u32,
    size_bytes: u64,
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    pub path: String,
    /// None if the file is gone again.
    pub sha256: Option<Sha256>,
}

pub struct Undo {
    directory: PathBuf,
    kept: BTreeMap<String, Kept>,
    limit_bytes: u64,
}

impl Undo {
    pub fn open(state: &StateDirectory, now_ms: i64) -> Result<Self> {
        Self::with_limit(state, now_ms, KEPT_BYTES)
    }

    /// With another limit than 1 GiB.
    pub fn with_limit(state: &StateDirectory, now_ms: i64, limit_bytes: u64) -> Result<Self> {
        let directory = state.inside(DIRECTORY)?;
        let mut undo = Self { directory, kept: BTreeMap::new(), limit_bytes };
        let mut others = Vec::new();
        for entry in std::fs::read_dir(&undo.directory).map_err(Error::io("reading what is kept"))? {
            let path = entry.map_err(Error::io("reading what is kept"))?.path();
            let call = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => {
                    let text = directories::read(&path)?.unwrap_or_default();
                    // A description that cannot be read is no use, and must not keep the node from starting.
                    if let Ok(kept) = serde_json::from_slice(&text) {
                        undo.kept.insert(call, kept);
                    }
                }
                _ => others.push((call, path)),
            }
        }
        for (call, path) in others {
            if path.extension().is_none_or(|extension| extension != "kept") || !undo.kept.contains_key(&call) {
                directories::remove(&path)?;
            }
        }
        undo.forget_old(now_ms, None)?;
        Ok(undo)
    }

    /// Keeps what the change will replace. To be called before it is committed.
    pub fn keep(&mut self, call: &str, change: &Change, now_ms: i64) -> Result<()> {
        check_name(call)?;
        let kept = match self.write_down(call, change, now_ms) {
            Ok(kept) => kept,
            Err(error) => {
                // Why it cannot be kept is what counts, not why its rest cannot be removed.
                let _ = self.forget(call);
                return Err(error);
            }
        };
        self.kept.insert(call.to_owned(), kept);
        self.forget_old(now_ms, Some(call))
    }

    fn write_down(&self, call: &str, change: &Change, now_ms: i64) -> Result<Kept> {
        let before = change.base().map(|base| self.copy_of(call, base)).transpose()?;
        let kept = Kept { path: change.path().to_owned(), before, after_sha256: change.new_sha256(), at_ms: now_ms };
        let text = serde_json::to_vec(&kept).map_err(|_| Error::InvalidArgument("the path cannot be kept"))?;
        directories::replace(&self.description(call), &text)?;
        Ok(kept)
    }

    fn copy_of(&self, call: &str, base: &Base) -> Result<Before> {
        let mut copy = directories::create(&self.copy(call))?;
        let (sha256, size_bytes) = hashes::copy(&mut base.rewound()?, &mut copy)?;
        if sha256 != base.sha256 {
            return Err(Error::StaleBase);
        }
        copy.sync_all().map_err(Error::io("keeping what is replaced"))?;
        Ok(Before { sha256, mode: base.mode(), size_bytes })
    }

    /// Puts back what the call replaced, if the file still is as the call left it. Once put back, nothing is kept any more.
    pub fn undo(&mut self, call: &str, files: &Files, now_ms: i64) -> Result<Undone> {
        let kept = self.kept.get(call).ok_or(Error::NothingKept)?.clone();
        let before_sha256 = kept.before.as_ref().map(|before| before.sha256);
        let present = files.sha256(&kept.path)?;
        // As it was: the call never happened, or a crash came between putting back and forgetting.
        if present != before_sha256 {
            if present != kept.after_sha256 {
                return Err(Error::ChangedSince);
            }
            self.put_back(call, &kept, files, now_ms)?;
        }
        self.forget(call)?;
        Ok(Undone { path: kept.path, sha256: before_sha256 })
    }

    fn put_back(&self, call: &str, kept: &Kept, files: &Files, now_ms: i64) -> Result<Changed> {
        let change = match &kept.before {
            None => files.prepare_restore(&kept.path, None)?,
            Some(before) => {
                let mut copy = File::open(self.copy(call)).map_err(Error::io("opening what was kept"))?;
                files.prepare_restore(&kept.path, Some((&mut copy, before.mode)))?
            }
        };
        if change.base_sha256() != kept.after_sha256 {
            return Err(Error::ChangedSince);
        }
        if change.new_sha256() != kept.before.as_ref().map(|before| before.sha256) {
            return Err(Error::NothingKept);
        }
        change.commit(now_ms).map_err(|error| match error {
            Error::StaleBase => Error::ChangedSince,
            error => error,
        })
    }

    /// The calls for which something is kept, with the path and when it was.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, i64)> {
        self.kept.iter().map(|(call, kept)| (call.as_str(), kept.path.as_str(), kept.at_ms))
    }

    /// Lets go of what is too old, and of the oldest while it is too much; never of what is about to be used.
    fn forget_old(&mut self, now_ms: i64, spared: Option<&str>) -> Result<()> {
        let mut by_age: Vec<_> =
            self.kept.iter().map(|(call, kept)| (kept.at_ms, call.clone(), kept.size_bytes())).collect();
        by_age.sort();
        let mut total_bytes: u64 = by_age.iter().map(|(_, _, size_bytes)| size_bytes).sum();
        for (at_ms, call, size_bytes) in by_age {
            let is_old = at_ms.saturating_add(KEPT_MS) <= now_ms;
            if (is_old || total_bytes > self.limit_bytes) && spared != Some(call.as_str()) {
                self.forget(&call)?;
                total_bytes -= size_bytes;
            }
        }
        Ok(())
    }

    /// Lets go of what is kept for a call that never happened. The description goes first: a copy alone is nothing.
    pub(crate) fn forget(&mut self, call: &str) -> Result<()> {
        directories::remove(&self.description(call))?;
        directories::remove(&self.copy(call))?;
        self.kept.remove(call);
        Ok(())
    }

    fn copy(&self, call: &str) -> PathBuf {
        self.directory.join(format!("{call}.kept"))
    }

    fn description(&self, call: &str) -> PathBuf {
        self.directory.join(format!("{call}.json"))
    }
}

impl Kept {
    /// A description takes room too, so that a million empty files are not free.
    fn size_bytes(&self) -> u64 {
        4_096 + self.before.as_ref().map_or(0, |before| before.size_bytes)
    }
}

/// Call ids become file names here, and come from outside.
pub(crate) fn check_name(call: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if call.is_empty() || call.len() > 128 || !call.bytes().all(is_plain) {
        return Err(Error::InvalidArgument("a call id has 1 to 128 letters, digits, `_` and `-`"));
    }
    Ok(())
}
