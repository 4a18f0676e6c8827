//! Two meanings of the word meet here and nowhere else: credentials (`Token`), and the size of a text (`approximate`).

use crate::ids::{AgentId, NodeId, ProjectId, SessionId, TokenId, UserId, WorkspaceId};
use crate::participants::Participant;
use crate::times::Timestamp;
use crate::{Refusal, Result};
use serde::{Deserialize, Serialize};

/// The size of a text, estimated: one token for every four Unicode scalar values, rounded up.
pub fn approximate(text: &str) -> u64 {
    text.chars().count().div_ceil(4) as u64
}

/// What a token lets its bearer be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TokenKind {
    /// The person, everywhere.
    User,
    /// One participant: of one session and nothing outside it, or an agent of a project, in one session or in any.
    Agent { workspace: WorkspaceId, agent: Option<AgentPlace>, session: Option<SessionId>, participant: Participant },
    /// A bot that delivers other people's messages.
    Channel { channel: String },
    /// The daemon on somebody's machine.
    Node { workspace: WorkspaceId, node: NodeId },
}

/// An agent of the token's workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentPlace {
    pub project: ProjectId,
    pub id: AgentId,
}

impl TokenKind {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent { .. } => "agent",
            Self::Channel { .. } => "channel",
            Self::Node { .. } => "node",
        }
    }
}

/// A token as the house remembers it. The signed text itself is never stored: it can be made again from this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    pub user: UserId,
    #[serde(flatten)]
    pub kind: TokenKind,
    pub label: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// The token it was made with. Neither its life nor its rights are longer than that one's.
    pub made_by: Option<TokenId>,
}

impl Token {
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }
}

pub const TTL_DEFAULT_S: u64 = 24 * 3600;
const TTL_LONGEST_S: u64 = 366 * 24 * 3600;

/// Reads `900`, `15m`, `24h`, `30d`.
pub fn parse_ttl(text: &str) -> Result<u64> {
    let refusal = || Refusal::invalid_field("ttl", "a time to live is like 90s, 15m, 24h or 30d, one year at most");
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let scale = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(refusal()),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(scale)).ok_or_else(refusal)?;
    if (1..=TTL_LONGEST_S).contains(&seconds) { Ok(seconds) } else { Err(refusal()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_thousand_characters_are_a_thousand_tokens_and_one_more_is_not() {
        for (length, expected) in [(0, 0), (1, 1), (4, 1), (5, 2), (4000, 1000), (4001, 1001)] {
            assert_eq!(approximate(&"é".repeat(length)), expected, "{length}");
        }
    }

    #[test]
    fn times_to_live_are_read_with_units() {
        for (text, seconds) in [("900", 900), ("90s", 90), ("15m", 900), ("24h", 86_400), ("30d", 2_592_000)] {
            assert_eq!(parse_ttl(text).unwrap(), seconds);
        }
        for bad in ["", "0", "m", "-1", "1w", "1.5h", "99999999999999999999d", "400d", "1h "] {
            assert!(parse_ttl(bad).is_err(), "{bad:?}");
        }
    }
}
