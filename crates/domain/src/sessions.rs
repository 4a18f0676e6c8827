//! Sessions: their state, their configuration and its limits.

use crate::ids::{ProjectId, SessionId, UserId, WorkspaceId};
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    Active,
    Archived,
}

impl SessionState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Archived => "archived",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenCounter {
    Approx,
    O200k,
}

/// A key that agents of this session are told about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConvention {
    pub key: String,
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
}

/// What a session was created with, every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionConfig {
    pub max_value_tokens: u64,
    pub warn_value_tokens: u64,
    pub max_store_tokens: u64,
    pub token_counter: TokenCounter,
    pub namespaces: bool,
    pub history_keep: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_conventions: Option<Vec<KeyConvention>>,
    pub acl: bool,
}

/// What a creator may say about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionConfigChoice {
    pub max_value_tokens: Option<u64>,
    pub warn_value_tokens: Option<u64>,
    pub max_store_tokens: Option<u64>,
    pub token_counter: Option<TokenCounter>,
    pub namespaces: Option<bool>,
    pub history_keep: Option<u64>,
    pub key_conventions: Option<Vec<KeyConvention>>,
    pub acl: Option<bool>,
}

const VALUE_TOKENS_MOST: u64 = 100_000;
const STORE_TOKENS_MOST: u64 = 1_000_000;
const HISTORY_MOST: u64 = 500;
const CONVENTIONS_MOST: usize = 100;
const CONVENTION_TEXT_LONGEST: usize = 500;
const TITLE_LONGEST: usize = 200;

/// Keys a session may hold, whatever their size: an empty value counts no tokens but is not free.
pub const KEYS_MOST: u64 = 1_000;
pub const SNAPSHOTS_MOST: u64 = 100;

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            max_value_tokens: 1_000,
            warn_value_tokens: 800,
            max_store_tokens: 10_000,
            token_counter: TokenCounter::Approx,
            namespaces: false,
            history_keep: 20,
            key_conventions: None,
            acl: false,
        }
    }
}

impl SessionConfigChoice {
    pub fn settle(self) -> Result<SessionConfig> {
        let defaults = SessionConfig::default();
        let max_value_tokens =
            in_range("max_value_tokens", self.max_value_tokens, 1..=VALUE_TOKENS_MOST, defaults.max_value_tokens)?;
        let warn_default = defaults.warn_value_tokens.min(max_value_tokens * 8 / 10);
        Ok(SessionConfig {
            max_value_tokens,
            warn_value_tokens: in_range(
                "warn_value_tokens",
                self.warn_value_tokens,
                0..=max_value_tokens,
                warn_default,
            )?,
            max_store_tokens: in_range(
                "max_store_tokens",
                self.max_store_tokens,
                1..=STORE_TOKENS_MOST,
                defaults.max_store_tokens,
            )?,
            token_counter: self.token_counter.unwrap_or(defaults.token_counter),
            namespaces: self.namespaces.unwrap_or(defaults.namespaces),
            history_keep: in_range("history_keep", self.history_keep, 0..=HISTORY_MOST, defaults.history_keep)?,
            key_conventions: self
                .key_conventions
                .map(|conventions| check_conventions("config.key_conventions", conventions))
                .transpose()?,
            acl: self.acl.unwrap_or(defaults.acl),
        })
    }
}

fn in_range(field: &str, chosen: Option<u64>, range: std::ops::RangeInclusive<u64>, default: u64) -> Result<u64> {
    let value = chosen.unwrap_or(default);
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (range.start(), range.end());
    Err(Refusal::invalid_field(
        &format!("config.{field}"),
        format!("`config.{field}` is a whole number from {least} to {most}"),
    ))
}

pub(crate) fn check_conventions(field: &str, conventions: Vec<KeyConvention>) -> Result<Vec<KeyConvention>> {
    if conventions.len() > CONVENTIONS_MOST {
        return Err(Refusal::invalid_field(field, format!("`{field}` has at most {CONVENTIONS_MOST} entries")));
    }
    for convention in &conventions {
        crate::keys::Key::parse(&convention.key, true)?;
        let texts = [Some(&convention.purpose), convention.shape.as_ref()];
        for text in texts.into_iter().flatten() {
            check_text(field, text, CONVENTION_TEXT_LONGEST)?;
        }
    }
    Ok(conventions)
}

/// One line of plain text for people: bounded, without control characters.
pub fn check_text(field: &str, text: &str, longest: usize) -> Result<()> {
    if text.chars().count() <= longest && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Refusal::invalid_field(field, format!("`{field}` is at most {longest} characters on one line")))
}

pub fn check_title(title: &str) -> Result<()> {
    check_text("title", title, TITLE_LONGEST)
}

/// A session with the counters of its shared context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub workspace: WorkspaceId,
    pub id: SessionId,
    /// Tells this session from an earlier one of the same id.
    pub uid: String,
    pub project: Option<ProjectId>,
    pub title: Option<String>,
    pub state: SessionState,
    pub config: SessionConfig,
    pub created_by: UserId,
    pub created_at: Timestamp,
    pub archived_at: Option<Timestamp>,
    pub counters: ContextCounters,
}

/// The numbers that every change of a shared context moves, kept with the session so that one row is the truth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextCounters {
    /// Increases on every change, is never reused.
    pub rev: u64,
    pub total_tokens: u64,
    pub keys: u64,
    /// The last number of the session's event stream.
    pub event_seq: u64,
    /// The oldest `rev` whose whole state can still be told from history.
    pub history_floor: u64,
    /// When the next key expires, if any does.
    pub next_expiry: Option<Timestamp>,
}

impl Session {
    pub fn require_active(&self) -> Result<()> {
        match self.state {
            SessionState::Active => Ok(()),
            SessionState::Archived => {
                Err(Refusal::new(Code::SessionArchived, "this session is archived: it can be read, not changed"))
            }
        }
    }

    /// The moment that expiry is judged by: it stands still once the session is archived.
    pub fn expiry_time(&self, now: Timestamp) -> Timestamp {
        self.archived_at.map_or(now, |archived| archived.min(now))
    }

    pub fn has_expired_keys(&self, now: Timestamp) -> bool {
        self.counters.next_expiry.is_some_and(|at| at <= self.expiry_time(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_published_ones_and_the_warning_follows_a_smaller_limit() {
        assert_eq!(SessionConfigChoice::default().settle().unwrap(), SessionConfig::default());
        let small = SessionConfigChoice { max_value_tokens: Some(100), ..Default::default() };
        assert_eq!(small.settle().unwrap().warn_value_tokens, 80);
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let cases = [
            SessionConfigChoice { max_value_tokens: Some(0), ..Default::default() },
            SessionConfigChoice { max_store_tokens: Some(u64::MAX), ..Default::default() },
            SessionConfigChoice { warn_value_tokens: Some(1001), ..Default::default() },
            SessionConfigChoice { history_keep: Some(1001), ..Default::default() },
        ];
        for case in cases {
            let refusal = case.settle().unwrap_err();
            assert_eq!(refusal.code, Code::InvalidRequest);
            assert!(refusal.details["field"].as_str().unwrap().starts_with("config."));
        }
    }
}
