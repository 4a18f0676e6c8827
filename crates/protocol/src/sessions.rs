//! Sessions and what agents are told about them.

use domain::sessions as words;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// 1 to 128 of `A-Z a-z 0-9 _ -`, not beginning with `ses_`; generated if left out.
    pub id: Option<String>,
    /// The id or name of a project; the session then belongs to its workspace.
    pub project: Option<String>,
    /// The caller's personal workspace if left out.
    pub workspace: Option<String>,
    pub title: Option<String>,
    pub config: Option<SessionConfigChoice>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenCounter {
    /// One token for every four characters, rounded up.
    Approx,
    /// The real tokenizer of that name.
    O200k,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionConfigChoice {
    /// The largest value; default 1000.
    pub max_value_tokens: Option<u64>,
    /// Above this a write succeeds with a warning; default 800, or 80 % of a smaller largest value.
    pub warn_value_tokens: Option<u64>,
    /// All values together; default 10000.
    pub max_store_tokens: Option<u64>,
    pub token_counter: Option<TokenCounter>,
    /// Whether keys may be written `namespace:key`.
    pub namespaces: Option<bool>,
    /// Versions kept per key; default 20, 0 = none.
    pub history_keep: Option<u64>,
    /// The keys that agents are told about; a general set if left out.
    pub key_conventions: Option<Vec<KeyConvention>>,
    /// Whether keys have access lists.
    pub acl: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyConvention {
    pub key: String,
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
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

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: String,
    pub workspace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `active` or `archived`.
    pub state: String,
    pub config: SessionConfig,
    pub created_by: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub archived_at: Option<Timestamp>,
    /// The shared context's counter of changes.
    pub rev: u64,
    pub key_count: u64,
    pub total_size_tokens: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionList {
    pub items: Vec<Session>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Prompt {
    pub session: String,
    pub participant: String,
    /// Markdown, ready for a system prompt.
    pub prompt: String,
}

impl From<TokenCounter> for words::TokenCounter {
    fn from(counter: TokenCounter) -> Self {
        match counter {
            TokenCounter::Approx => Self::Approx,
            TokenCounter::O200k => Self::O200k,
        }
    }
}

impl From<words::TokenCounter> for TokenCounter {
    fn from(counter: words::TokenCounter) -> Self {
        match counter {
            words::TokenCounter::Approx => Self::Approx,
            words::TokenCounter::O200k => Self::O200k,
        }
    }
}

impl From<KeyConvention> for words::KeyConvention {
    fn from(convention: KeyConvention) -> Self {
        Self { key: convention.key, purpose: convention.purpose, shape: convention.shape }
    }
}

impl From<words::KeyConvention> for KeyConvention {
    fn from(convention: words::KeyConvention) -> Self {
        Self { key: convention.key, purpose: convention.purpose, shape: convention.shape }
    }
}

impl From<SessionConfigChoice> for words::SessionConfigChoice {
    fn from(choice: SessionConfigChoice) -> Self {
        Self {
            max_value_tokens: choice.max_value_tokens,
            warn_value_tokens: choice.warn_value_tokens,
            max_store_tokens: choice.max_store_tokens,
            token_counter: choice.token_counter.map(Into::into),
            namespaces: choice.namespaces,
            history_keep: choice.history_keep,
            key_conventions: choice.key_conventions.map(|list| list.into_iter().map(Into::into).collect()),
            acl: choice.acl,
        }
    }
}

impl From<words::SessionConfig> for SessionConfig {
    fn from(config: words::SessionConfig) -> Self {
        Self {
            max_value_tokens: config.max_value_tokens,
            warn_value_tokens: config.warn_value_tokens,
            max_store_tokens: config.max_store_tokens,
            token_counter: config.token_counter.into(),
            namespaces: config.namespaces,
            history_keep: config.history_keep,
            key_conventions: config.key_conventions.map(|list| list.into_iter().map(Into::into).collect()),
            acl: config.acl,
        }
    }
}

impl From<words::Session> for Session {
    fn from(session: words::Session) -> Self {
        Self {
            id: session.id.as_str().to_owned(),
            workspace: session.workspace.as_str().to_owned(),
            project: session.project.map(|project| project.as_str().to_owned()),
            title: session.title,
            state: session.state.as_str().to_owned(),
            config: session.config.into(),
            created_by: session.created_by.as_str().to_owned(),
            created_at: session.created_at,
            archived_at: session.archived_at,
            rev: session.counters.rev,
            key_count: session.counters.keys,
            total_size_tokens: session.counters.total_tokens,
        }
    }
}
