//! Entries of a shared context and the decision whether one may be read, written or deleted.
//!
//! The decisions are pure: they get the session, the entry as it stands and the request, and answer with the
//! entry as it will stand or with a refusal. What a participant may not read is absent to it; that rule comes
//! before every other, so that no refusal reveals more than `FORBIDDEN`.

use crate::keys::Key;
use crate::participants::{Participant, Patterns};
use crate::sessions::{KEYS_MOST, Session};
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

/// Who may do what with a key; `by` is the participant that created it and may change this list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Access {
    pub readable_by: Patterns,
    pub writable_by: Patterns,
    pub by: Participant,
}

impl Access {
    pub fn open(by: Participant) -> Self {
        Self { readable_by: Patterns::everybody(), writable_by: Patterns::everybody(), by }
    }

    fn may_change(&self, participant: &Participant) -> bool {
        *participant == self.by || participant.is_orchestrator()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub key: Key,
    pub value: String,
    pub version: u64,
    pub rev: u64,
    pub written_by: Participant,
    pub written_at: Timestamp,
    pub tokens: u64,
    pub expires_at: Option<Timestamp>,
    pub access: Access,
}

impl Entry {
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }
}

/// Whether a participant may know of something guarded by `access`. Without access lists everybody may.
pub fn may_read(session: &Session, access: &Access, participant: &Participant) -> bool {
    !session.config.acl || access.readable_by.admits(participant)
}

fn may_write(session: &Session, access: &Access, participant: &Participant) -> bool {
    !session.config.acl || access.writable_by.admits(participant)
}

/// What the caller believes the key to be. `Some(0)` = absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Expectation {
    pub version: Option<u64>,
    pub rev: Option<u64>,
}

impl Expectation {
    fn check(self, current: Option<&Entry>) -> Result<()> {
        let (version, rev) = current.map_or((0, 0), |entry| (entry.version, entry.rev));
        if self.version.is_none_or(|wanted| wanted == version) && self.rev.is_none_or(|wanted| wanted == rev) {
            return Ok(());
        }
        let refusal =
            Refusal::new(Code::VersionConflict, "the key is not at the version you expect: read it, then decide")
                .with("current_version", version)
                .with("current_rev", rev);
        Err(match current {
            Some(entry) => refusal.with("current_written_by", entry.written_by.as_str()),
            None => refusal.with("current_written_by", serde_json::Value::Null),
        })
    }
}

/// A write, its value already measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub key: Key,
    pub value: String,
    pub tokens: u64,
    pub expectation: Expectation,
    pub ttl_seconds: Option<u64>,
    pub readable_by: Option<Patterns>,
    pub writable_by: Option<Patterns>,
}

impl Write {
    fn changes_access(&self) -> bool {
        self.readable_by.is_some() || self.writable_by.is_some()
    }

    fn access(&self, current: Option<&Entry>, participant: &Participant) -> Access {
        let mut access = current.map_or_else(|| Access::open(participant.clone()), |entry| entry.access.clone());
        if let Some(patterns) = &self.readable_by {
            access.readable_by = patterns.clone();
        }
        if let Some(patterns) = &self.writable_by {
            access.writable_by = patterns.clone();
        }
        access
    }
}

/// The entry after a write, or why there is none. `current` is the live entry, seen or not.
pub fn decide_write(
    session: &Session,
    current: Option<&Entry>,
    write: &Write,
    participant: &Participant,
    now: Timestamp,
) -> Result<Entry> {
    session.require_active()?;
    if write.changes_access() && !session.config.acl {
        return Err(Refusal::invalid("this session has no access lists: create it with `config.acl: true`"));
    }
    if let Some(entry) = current {
        check_writable(session, entry, write, participant)?;
    }
    write.expectation.check(current)?;
    check_size(session, current, write.tokens)?;
    Ok(Entry {
        key: write.key.clone(),
        value: write.value.clone(),
        version: current.map_or(0, |entry| entry.version) + 1,
        rev: session.counters.rev + 1,
        written_by: participant.clone(),
        written_at: now,
        tokens: write.tokens,
        expires_at: write.ttl_seconds.map(|seconds| now.plus_seconds(seconds)),
        access: write.access(current, participant),
    })
}

fn check_writable(session: &Session, entry: &Entry, write: &Write, participant: &Participant) -> Result<()> {
    let readable = may_read(session, &entry.access, participant);
    let writable = may_write(session, &entry.access, participant);
    let may_change = entry.access.may_change(participant);
    // The orchestrator may always mend a list, even of a key that is hidden from it: else any participant could take
    // a key away from everybody for good. It learns nothing by it, as its own value takes the place of the hidden one.
    let mending = write.changes_access() && participant.is_orchestrator();
    let rewriting = write.changes_access() && may_change && readable;
    if !(readable && writable || mending || rewriting) {
        return Err(Refusal::forbidden("you may not write this key"));
    }
    if write.changes_access() && !may_change {
        return Err(Refusal::forbidden("only the key's writer or the orchestrator may change its access lists"));
    }
    Ok(())
}

fn check_size(session: &Session, current: Option<&Entry>, tokens: u64) -> Result<()> {
    let config = &session.config;
    if tokens > config.max_value_tokens {
        return Err(Refusal::new(
            Code::ValueTooLarge,
            format!(
                "the value has {tokens} tokens, the limit is {}: store conclusions, not raw data",
                config.max_value_tokens
            ),
        )
        .with("value_size_tokens", tokens)
        .with("max_value_tokens", config.max_value_tokens));
    }
    let counters = &session.counters;
    let needed = counters.total_tokens.saturating_sub(current.map_or(0, |entry| entry.tokens)) + tokens;
    if needed > config.max_store_tokens {
        return Err(Refusal::new(
            Code::StoreFull,
            format!(
                "the store would hold {needed} tokens, the limit is {}: delete or shorten keys",
                config.max_store_tokens
            ),
        )
        .with("total_size_tokens", counters.total_tokens)
        .with("needed_size_tokens", needed)
        .with("max_store_tokens", config.max_store_tokens));
    }
    if current.is_none() && counters.keys >= KEYS_MOST {
        return Err(Refusal::new(Code::StoreFull, format!("the store holds {KEYS_MOST} keys, the most it may"))
            .with("max_keys", KEYS_MOST));
    }
    Ok(())
}

/// The warning that goes with a successful but large write.
pub fn size_warning(session: &Session, tokens: u64) -> Option<String> {
    let warn_above = session.config.warn_value_tokens;
    (tokens > warn_above).then(|| {
        format!("the value has {tokens} tokens, more than the advised {warn_above}: is it raw data rather than a conclusion?")
    })
}

/// Whether `current` may be deleted; answers the entry that goes.
pub fn decide_delete<'a>(
    session: &Session,
    current: Option<&'a Entry>,
    expectation: Expectation,
    participant: &Participant,
) -> Result<&'a Entry> {
    session.require_active()?;
    let seen = current.filter(|entry| may_read(session, &entry.access, participant));
    let entry = seen.ok_or_else(key_not_found)?;
    if !may_write(session, &entry.access, participant) {
        return Err(Refusal::forbidden("you may not delete this key"));
    }
    expectation.check(Some(entry))?;
    Ok(entry)
}

pub fn key_not_found() -> Refusal {
    Refusal::new(Code::KeyNotFound, "there is no such key in this session")
}
