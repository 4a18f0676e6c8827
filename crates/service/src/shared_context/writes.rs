//! Writing and deleting one key.

use super::changes::Action;
use super::scene::Scene;
use crate::{Error, Result};
use domain::answers::{Deleted, Written};
use domain::entries::{self, Entry, Expectation};
use domain::history::ChangeKind;
use domain::requests::WriteRequest;
use domain::sessions::TokenCounter;
use domain::tokens::approximate;

#[derive(Clone)]
pub(super) struct Write {
    pub(super) request: WriteRequest,
    /// Counted beforehand where the session counts exactly.
    pub(super) exact_tokens: Option<u64>,
}

impl Write {
    fn measure(&self, counter: TokenCounter) -> Result<u64> {
        match counter {
            TokenCounter::Approx => Ok(approximate(&self.request.value)),
            TokenCounter::O200k => self.exact_tokens.ok_or(Error::NeedsTokenCount),
        }
    }
}

impl Action for Write {
    type Output = Written;

    fn is_small(&self) -> bool {
        true
    }

    async fn apply(&self, scene: &mut Scene<'_>) -> Result<Written> {
        scene.session.require_active()?;
        let request = &self.request;
        let key = scene.parse_key(&request.key)?;
        let current = scene.entry(&key).await?;
        let write = entries::Write {
            key,
            value: request.value.clone(),
            tokens: self.measure(scene.session.config.token_counter)?,
            expectation: request.expectation,
            ttl_seconds: request.ttl_seconds,
            readable_by: request.readable_by.clone(),
            writable_by: request.writable_by.clone(),
        };
        let entry = entries::decide_write(&scene.session, current.as_ref(), &write, scene.participant(), scene.now)?;
        scene.put(current.as_ref(), &entry).await?;
        scene.audit("context.write", |record| {
            record
                .with("key", entry.key.as_str())
                .with("tokens", entry.tokens)
                .with("version", entry.version)
                .with("rev", entry.rev)
        });
        Ok(answer(scene, entry))
    }
}

fn answer(scene: &Scene<'_>, entry: Entry) -> Written {
    Written {
        warning: entries::size_warning(&scene.session, entry.tokens),
        total_size_tokens: scene.session.counters.total_tokens,
        key: entry.key,
        version: entry.version,
        rev: entry.rev,
        written_by: entry.written_by,
        written_at: entry.written_at,
        value_size_tokens: entry.tokens,
        expires_at: entry.expires_at,
    }
}

pub(super) struct Delete {
    pub(super) key: String,
    pub(super) expectation: Expectation,
}

impl Action for Delete {
    type Output = Deleted;

    async fn apply(&self, scene: &mut Scene<'_>) -> Result<Deleted> {
        scene.session.require_active()?;
        let key = scene.parse_key(&self.key)?;
        let current = scene.entry(&key).await?;
        let entry = entries::decide_delete(&scene.session, current.as_ref(), self.expectation, scene.participant())?;
        let change = scene.remove(entry, ChangeKind::Deleted).await?;
        scene.audit("context.delete", |record| {
            record
                .with("key", change.key.as_str())
                .with("tokens", entry.tokens)
                .with("version", change.version)
                .with("rev", change.rev)
        });
        let total_size_tokens = scene.session.counters.total_tokens;
        Ok(Deleted { deleted: change.key, previous_version: change.version, rev: change.rev, total_size_tokens })
    }
}
