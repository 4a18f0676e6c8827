//! Messages: the history of a session. What was said stays as it was said; a summary stands beside it, never instead.

use crate::ids::{AgentId, MessageId, SessionId, TaskId, UserId};
use crate::money::Micros;
use crate::participants::Participant;
use crate::prices::Usage;
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

pub const CONTENT_LONGEST: usize = 256 * 1024;
/// Messages of one session: past this a new session is due.
pub const MESSAGES_MOST: u64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whoever asked: a person, or an agent that works outside.
    User,
    /// An agent of the house: a step with calls of tools, an answer, or why there is none.
    Assistant,
    /// What stands for everything up to a message, so that a model need not be told all of it.
    Summary,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::User, Self::Assistant, Self::Summary];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Summary => "summary",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its place in the session, without a gap from 1.
    pub number: u64,
    pub id: MessageId,
    pub session: SessionId,
    pub role: Role,
    pub content: String,
    pub author: Author,
    pub task: Option<TaskId>,
    pub in_reply_to: Option<MessageId>,
    /// Of an assistant.
    pub made_by: Option<MadeBy>,
    /// What the assistant asked for in this step, and what came of it.
    pub calls: Vec<ToolUse>,
    /// Why there is no answer, or why it ends here.
    pub error: Option<Failure>,
    /// Of a summary: the number of the last message that it stands for.
    pub covers: Option<u64>,
    pub created_at: Timestamp,
}

/// Who said it, on whose behalf.
#[derive(Debug, Clone, PartialEq)]
pub struct Author {
    pub participant: Participant,
    pub user: UserId,
    /// The agent that speaks, or that is spoken to.
    pub agent: Option<NamedAgent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedAgent {
    pub id: AgentId,
    pub name: String,
}

/// What an answer was made with.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeBy {
    pub model: String,
    pub usage: Usage,
    /// None if the model has no known price.
    pub cost: Option<Micros>,
    /// Whether it ran into the limit of tokens and ends in the middle.
    pub truncated: bool,
}

/// One call of a tool in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    pub id: String,
    pub tool: String,
    /// As the model wrote them.
    pub arguments: String,
    /// None while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub content: String,
    pub is_error: bool,
}

/// Why a task has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: Code,
    pub message: String,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { code: refusal.code, message: refusal.message }
    }
}

pub fn check_content(content: &str) -> Result<()> {
    if content.trim().is_empty() {
        return Err(Refusal::invalid_field("content", "`content` is empty: say something"));
    }
    if content.contains('\0') {
        return Err(Refusal::invalid_field("content", "`content` is text without the character NUL"));
    }
    if content.len() > CONTENT_LONGEST {
        let message = format!("`content` is at most {CONTENT_LONGEST} bytes: put long material into an item or a key");
        return Err(Refusal::new(Code::ValueTooLarge, message).with("field", "content"));
    }
    Ok(())
}
