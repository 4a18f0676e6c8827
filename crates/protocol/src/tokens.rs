//! Tokens, as their owner manages them.

use domain::times::Timestamp;
use domain::tokens as words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Without `agent`, `session` or `channel`: a token of the person. With `session`: a token for one participant of it. With
/// `agent`: a token for that agent, in one session or wherever it takes part.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// The id of an agent.
    pub agent: Option<String>,
    pub session: Option<String>,
    /// Where several sessions have that id.
    pub workspace: Option<String>,
    /// `orchestrator` (the default), `subagent:<type>` or `subagent:<type>:<n>`; an agent is `subagent:<its name>` unless
    /// it is given another name here.
    pub participant: Option<String>,
    /// For a bot: `http`, `telegram` or `discord`. Admins only.
    pub channel: Option<String>,
    /// Such as `15m`, `24h` (the default), `30d`.
    pub ttl: Option<String>,
    pub label: Option<String>,
    /// For somebody else: only on the house's own machine.
    pub user: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// The token's `jti`.
    pub id: String,
    /// `user`, `agent`, `channel` or `node`.
    pub kind: String,
    pub user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// A new token. Its text is shown this once.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct IssuedToken {
    pub token: String,
    #[serde(flatten)]
    pub about: Token,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    pub items: Vec<Token>,
    pub next_cursor: Option<String>,
}

impl From<words::Token> for Token {
    fn from(token: words::Token) -> Self {
        let mut told = Self {
            id: token.id.as_str().to_owned(),
            kind: token.kind.as_str().to_owned(),
            user: token.user.as_str().to_owned(),
            workspace: None,
            project: None,
            agent: None,
            session: None,
            participant: None,
            channel: None,
            node: None,
            label: token.label,
            created_at: token.created_at,
            expires_at: token.expires_at,
        };
        match token.kind {
            words::TokenKind::User => {}
            words::TokenKind::Agent { workspace, agent, session, participant } => {
                told.workspace = Some(workspace.as_str().to_owned());
                told.project = agent.as_ref().map(|agent| agent.project.as_str().to_owned());
                told.agent = agent.map(|agent| agent.id.as_str().to_owned());
                told.session = session.map(|session| session.as_str().to_owned());
                told.participant = Some(participant.as_str().to_owned());
            }
            words::TokenKind::Channel { channel } => told.channel = Some(channel),
            words::TokenKind::Node { workspace, node } => {
                told.workspace = Some(workspace.as_str().to_owned());
                told.node = Some(node.as_str().to_owned());
            }
        }
        told
    }
}
