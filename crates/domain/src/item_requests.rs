//! The envelopes of the five `workspace_*` tools and what they answer: the same JSON over HTTP, MCP and in the agent loop.

use crate::Result;
use crate::fields::{Fields, wrong_type};
use crate::ids::{AgentId, PublicationId, UserId};
use crate::items::{Item, ItemKey, ItemSummary, Source, check_value};
use crate::platform_tools::{
    self, WORKSPACE_DELETE, WORKSPACE_LIST, WORKSPACE_PUBLISH, WORKSPACE_READ, WORKSPACE_WRITE,
};
use crate::times::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq)]
pub enum ItemRequest {
    List,
    Read { key: ItemKey },
    Write { key: ItemKey, value: String, if_version: Option<u64> },
    Delete { key: ItemKey },
    Publish(PublishRequest),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PublishRequest {
    pub key: ItemKey,
    pub target_agent: String,
    pub target_key: ItemKey,
    pub overwrite: bool,
}

impl ItemRequest {
    pub fn tool(&self) -> &'static str {
        match self {
            Self::List => WORKSPACE_LIST,
            Self::Read { .. } => WORKSPACE_READ,
            Self::Write { .. } => WORKSPACE_WRITE,
            Self::Delete { .. } => WORKSPACE_DELETE,
            Self::Publish(_) => WORKSPACE_PUBLISH,
        }
    }

    pub fn parse(tool: &str, envelope: Map<String, Value>) -> Result<Self> {
        let mut fields = Fields::of(envelope)?;
        let request = match tool {
            WORKSPACE_LIST => Self::List,
            WORKSPACE_READ => Self::Read { key: fields.item_key()? },
            WORKSPACE_WRITE => {
                let (key, value) = (fields.item_key()?, fields.text("value")?);
                check_value(&value)?;
                Self::Write { key, value, if_version: fields.optional_number("if_version")? }
            }
            WORKSPACE_DELETE => Self::Delete { key: fields.item_key()? },
            WORKSPACE_PUBLISH => Self::Publish(fields.publish()?),
            _ => return Err(platform_tools::not_found()),
        };
        fields.finish(tool)?;
        Ok(request)
    }
}

impl Fields {
    fn item_key(&mut self) -> Result<ItemKey> {
        ItemKey::parse("key", self.text("key")?)
    }

    fn publish(&mut self) -> Result<PublishRequest> {
        let key = self.item_key()?;
        let target_key = match self.optional_text("target_key")? {
            Some(text) => ItemKey::parse("target_key", text)?,
            None => key.clone(),
        };
        let overwrite = match self.take("overwrite") {
            None => false,
            Some(Value::Bool(overwrite)) => overwrite,
            Some(_) => return Err(wrong_type("overwrite", "true or false")),
        };
        Ok(PublishRequest { key, target_agent: self.text("target_agent_id")?, target_key, overwrite })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemListing {
    pub items: Vec<ListedItem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedItem {
    pub key: ItemKey,
    pub preview: String,
    pub size_bytes: u64,
    pub created_by: AgentId,
    pub updated_by: AgentId,
    pub updated_at: Timestamp,
    pub version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_from: Option<Source>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadItem {
    pub key: ItemKey,
    pub value: String,
    pub size_bytes: u64,
    pub created_by: AgentId,
    pub created_at: Timestamp,
    pub updated_by: AgentId,
    pub updated_at: Timestamp,
    pub on_behalf_of: UserId,
    pub version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_from: Option<Source>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrittenItem {
    pub key: ItemKey,
    pub version: u64,
    pub size_bytes: u64,
    pub created_by: AgentId,
    pub updated_by: AgentId,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeletedItem {
    pub deleted: ItemKey,
    pub previous_version: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedItem {
    pub publication_id: PublicationId,
    pub key: ItemKey,
    pub target_agent_id: AgentId,
    pub target_key: ItemKey,
    /// The copy's version.
    pub version: u64,
    /// Whether something lay there before.
    pub overwritten: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ItemAnswer {
    Listing(ItemListing),
    Read(ReadItem),
    Written(WrittenItem),
    Deleted(DeletedItem),
    Published(PublishedItem),
}

impl From<ItemSummary> for ListedItem {
    fn from(summary: ItemSummary) -> Self {
        let published_from = summary.item.shown_source();
        let ItemSummary { item, preview, size_bytes } = summary;
        Self {
            key: item.key,
            preview,
            size_bytes,
            created_by: item.created_by,
            updated_by: item.updated_by,
            updated_at: item.updated_at,
            version: item.version,
            published_from,
        }
    }
}

impl From<Item> for ReadItem {
    fn from(item: Item) -> Self {
        Self {
            size_bytes: item.size_bytes(),
            published_from: item.shown_source(),
            key: item.key,
            value: item.value,
            created_by: item.created_by,
            created_at: item.created_at,
            updated_by: item.updated_by,
            updated_at: item.updated_at,
            on_behalf_of: item.on_behalf_of,
            version: item.version,
        }
    }
}

impl From<&Item> for WrittenItem {
    fn from(item: &Item) -> Self {
        Self {
            key: item.key.clone(),
            version: item.version,
            size_bytes: item.size_bytes(),
            created_by: item.created_by.clone(),
            updated_by: item.updated_by.clone(),
            updated_at: item.updated_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use serde_json::json;

    fn parse(tool: &str, value: Value) -> Result<ItemRequest> {
        match value {
            Value::Object(map) => ItemRequest::parse(tool, map),
            _ => panic!("a test envelope is an object"),
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_nothing_sent_is_repeated() {
        let cases = [
            ("workspace_list", json!({"scope": "SECRET"}), "scope"),
            ("workspace_list", json!({"user_id": "SECRET"}), "user_id"),
            ("workspace_read", json!({}), "key"),
            ("workspace_read", json!({"key": 1}), "key"),
            ("workspace_read", json!({"key": "a", "workspace_id": "SECRET"}), "workspace_id"),
            ("workspace_write", json!({"key": "a"}), "value"),
            ("workspace_write", json!({"key": "a", "value": {"SECRET": 1}}), "value"),
            ("workspace_write", json!({"key": "a", "value": "SECRET\0"}), "value"),
            ("workspace_write", json!({"key": "a", "value": "b", "if_version": "SECRET"}), "if_version"),
            ("workspace_delete", json!({"key": "a", "if_version": 1}), "if_version"),
            ("workspace_publish", json!({"key": "a"}), "target_agent_id"),
            ("workspace_publish", json!({"key": "a", "target_agent_id": "agt_1", "overwrite": "yes"}), "overwrite"),
            ("workspace_publish", json!({"key": "a", "target_agent_id": "agt_1", "participant": "x"}), "participant"),
        ];
        for (tool, envelope, field) in cases {
            let refusal = parse(tool, envelope.clone()).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidRequest, "{envelope}");
            assert_eq!(refusal.details["field"], field, "{envelope}");
            assert!(!refusal.message.contains("SECRET"), "{envelope}");
        }
        let long = json!({"key": "a", "target_agent_id": "agt_1", "target_key": "a\nb"});
        assert_eq!(parse("workspace_publish", long).unwrap_err().details["field"], "target_key");
        assert_eq!(parse("shell", json!({})).unwrap_err().code, Code::ToolNotFound);
    }
}
