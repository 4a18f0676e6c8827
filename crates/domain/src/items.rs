//! Workspace items: texts under keys that a user's private agents share, or that belong to one shared agent.

use crate::agents::Agent;
use crate::ids::{AgentId, ItemId, UserId, WorkspaceId};
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

pub const ITEMS_MOST: u64 = 10_000;
pub const VALUE_LARGEST_BYTES: usize = 256 * 1024;
const KEY_LONGEST: usize = 256;
const PREVIEW_CHARACTERS: usize = 100;

/// The key of an item: 1 to 256 characters, none of them a control character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemKey(String);

impl ItemKey {
    pub fn parse(field: &str, text: String) -> Result<Self> {
        let length = text.chars().count();
        if (1..=KEY_LONGEST).contains(&length) && !text.chars().any(char::is_control) {
            return Ok(Self(text));
        }
        let message = format!("`{field}` is 1 to {KEY_LONGEST} characters without control characters");
        Err(Refusal::new(Code::InvalidKey, message).with("field", field))
    }

    pub fn from_trusted(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whose items they are. Made from people and agents (`Agent::item_scope`), never from a request's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemScope {
    name: String,
    workspace: WorkspaceId,
    agent: Option<AgentId>,
}

impl ItemScope {
    /// All private agents of a user.
    pub fn of_user(user: &UserId) -> Self {
        Self { name: format!("user-{user}"), workspace: WorkspaceId::personal(user), agent: None }
    }

    /// One agent's own, as long as it is shared.
    pub fn of_agent(agent: &Agent) -> Self {
        let name = format!("agent-{}", agent.id);
        Self { name, workspace: agent.workspace.clone(), agent: Some(agent.id.clone()) }
    }

    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Where its events and audit rows belong: of a private scope, to the person alone.
    pub fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// The shared agent whose scope it is.
    pub fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }
}

impl fmt::Display for ItemScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Where a published copy came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub scope: String,
    /// Left out for those who would learn a private key from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ItemKey>,
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub id: ItemId,
    pub key: ItemKey,
    pub value: String,
    pub created_by: AgentId,
    pub created_at: Timestamp,
    pub updated_by: AgentId,
    pub updated_at: Timestamp,
    /// The person for whom it was last changed.
    pub on_behalf_of: UserId,
    pub version: u64,
    /// Its place among the changes of its scope.
    pub seq: u64,
    pub published_from: Option<Source>,
}

/// An item without its value.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemSummary {
    /// With an empty value.
    pub item: Item,
    pub preview: String,
    pub size_bytes: u64,
}

/// How much a scope holds, and how often it changed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScopeCounters {
    pub seq: u64,
    pub items: u64,
}

/// Who changes an item, for whom and when.
#[derive(Debug, Clone)]
pub struct Stamp {
    pub agent: AgentId,
    pub user: UserId,
    pub at: Timestamp,
}

/// A value on its way into an item.
#[derive(Debug, Clone)]
pub struct NewValue {
    pub id: ItemId,
    pub key: ItemKey,
    pub value: String,
    pub published_from: Option<Source>,
}

impl Item {
    /// The item as it stands after `new` was put in the place of `before`.
    pub fn put(before: Option<&Self>, new: NewValue, counters: &mut ScopeCounters, stamp: &Stamp) -> Result<Self> {
        if before.is_none() && counters.items >= ITEMS_MOST {
            let message = format!("this workspace holds {ITEMS_MOST} items, as many as it can: delete some first");
            return Err(Refusal::new(Code::StoreFull, message).with("max_items", ITEMS_MOST));
        }
        counters.items += u64::from(before.is_none());
        counters.seq += 1;
        Ok(Self {
            id: before.map_or(new.id, |item| item.id.clone()),
            key: new.key,
            value: new.value,
            created_by: before.map_or_else(|| stamp.agent.clone(), |item| item.created_by.clone()),
            created_at: before.map_or(stamp.at, |item| item.created_at),
            updated_by: stamp.agent.clone(),
            updated_at: stamp.at,
            on_behalf_of: stamp.user.clone(),
            version: before.map_or(0, |item| item.version) + 1,
            seq: counters.seq,
            published_from: new.published_from,
        })
    }

    pub fn preview(&self) -> String {
        self.value.chars().take(PREVIEW_CHARACTERS).collect()
    }

    pub fn size_bytes(&self) -> u64 {
        self.value.len() as u64
    }

    /// Where it came from, as those are told who see the copy and not the source.
    pub fn shown_source(&self) -> Option<Source> {
        let source = self.published_from.clone()?;
        let key = source.key.filter(|key| *key == self.key);
        Some(Source { key, ..source })
    }

    pub fn check_version(found: Option<&Self>, expected: Option<u64>) -> Result<()> {
        let current = found.map_or(0, |item| item.version);
        if expected.is_none_or(|expected| expected == current) {
            return Ok(());
        }
        let message = "the item is at another version than you expect: read it again";
        let refusal = Refusal::new(Code::VersionConflict, message).with("current_version", current);
        Err(match found {
            Some(item) => refusal.with("current_updated_by", item.updated_by.as_str()),
            None => refusal,
        })
    }
}

pub fn check_value(value: &str) -> Result<()> {
    if value.len() > VALUE_LARGEST_BYTES {
        let message = format!("a value is at most {VALUE_LARGEST_BYTES} bytes of text");
        let refusal = Refusal::new(Code::ValueTooLarge, message);
        return Err(refusal.with("max_bytes", VALUE_LARGEST_BYTES).with("size_bytes", value.len()));
    }
    if value.contains('\0') {
        return Err(Refusal::invalid_field("value", "`value` is text: it cannot hold the character U+0000"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_any_line_of_text() {
        for good in ["a", "Shopping list / March", "日本", &"é".repeat(256)] {
            assert!(ItemKey::parse("key", good.to_owned()).is_ok(), "{good:?}");
        }
        for bad in ["", "a\nb", "\u{7f}", "a\0", "\u{85}", &"é".repeat(257)] {
            assert_eq!(ItemKey::parse("key", bad.to_owned()).unwrap_err().code, Code::InvalidKey, "{bad:?}");
        }
    }

    #[test]
    fn a_value_has_a_quarter_of_a_mebibyte() {
        assert!(check_value(&"x".repeat(VALUE_LARGEST_BYTES)).is_ok());
        assert_eq!(check_value(&"x".repeat(VALUE_LARGEST_BYTES + 1)).unwrap_err().code, Code::ValueTooLarge);
        assert_eq!(check_value("a\0").unwrap_err().code, Code::InvalidRequest);
    }
}
