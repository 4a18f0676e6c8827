//! What a person published from their own items.

use domain::publications as words;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Publication {
    pub id: String,
    /// The source's key and its version at the time.
    pub key: String,
    pub version: u64,
    /// The agent that published.
    pub agent_id: String,
    pub target_agent_id: String,
    pub target_key: String,
    /// The copy's version at the time.
    pub target_version: u64,
    #[schema(value_type = String, format = DateTime)]
    pub published_at: Timestamp,
    /// `unchanged`: it can be recalled. `changed`, `gone`: it can not.
    pub state: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PublicationList {
    pub items: Vec<Publication>,
    pub next_cursor: Option<String>,
}

impl Publication {
    pub fn new(publication: words::Publication, state: words::CopyState) -> Self {
        let source = publication.source;
        Self {
            id: publication.id.as_str().to_owned(),
            key: source.key.map_or_else(String::new, |key| key.as_str().to_owned()),
            version: source.version,
            agent_id: publication.agent.as_str().to_owned(),
            target_agent_id: publication.target_agent.as_str().to_owned(),
            target_key: publication.target_key.as_str().to_owned(),
            target_version: publication.item_version,
            published_at: publication.published_at,
            state: state.as_str().to_owned(),
        }
    }
}
