//! On whose behalf an operation runs. Made by the door that let the request in, never read from a payload.

use crate::ids::{AgentId, NodeId, ProjectId, SessionId, UserId, WorkspaceId};
use crate::participants::Participant;
use crate::roles::Role;
use crate::{Refusal, Result};
use serde::{Deserialize, Serialize};

/// How the caller proved who it is, and so what it may reach at most.
#[derive(Debug, Clone, PartialEq)]
pub enum Credential {
    /// A person's own token or browser.
    User,
    /// A token for one session.
    Session { workspace: WorkspaceId, session: SessionId },
    /// A token for one agent, and perhaps for one session only.
    Agent { agent: AgentRef, session: Option<SessionId> },
    /// A bot of a channel.
    Channel { channel: String },
    /// The daemon on somebody's machine, for the calls that it makes.
    Node { workspace: WorkspaceId, node: NodeId },
    /// Somebody with access to the data directory: the command line beside the server.
    Operator,
}

/// Which agent, and where it lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRef {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub id: AgentId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    pub user: UserId,
    pub role: Role,
    pub participant: Participant,
    pub credential: Credential,
}

impl Caller {
    /// For what only a person may do: make sessions, tokens, decisions.
    pub fn require_person(&self) -> Result<()> {
        match self.credential {
            Credential::User | Credential::Operator => Ok(()),
            Credential::Session { .. } => {
                Err(Refusal::forbidden("a session token reaches only its session's context, prompt and events"))
            }
            Credential::Agent { .. } => {
                Err(Refusal::forbidden("an agent token is for its agent's tools and sessions: this is for a person"))
            }
            Credential::Channel { .. } => Err(only_delivers()),
            Credential::Node { .. } => Err(only_makes_calls()),
        }
    }

    /// For what a person may do, and any agent on behalf of one.
    pub fn require_person_or_agent(&self) -> Result<()> {
        match self.credential {
            Credential::Agent { .. } => Ok(()),
            _ => self.require_person(),
        }
    }

    /// For what people and the participants of sessions do; a bot only delivers.
    pub fn require_participant(&self) -> Result<()> {
        match self.credential {
            Credential::Channel { .. } => Err(only_delivers()),
            Credential::Node { .. } => Err(only_makes_calls()),
            _ => Ok(()),
        }
    }

    pub fn require_admin(&self) -> Result<()> {
        self.require_person()?;
        if self.role == Role::Admin { Ok(()) } else { Err(Refusal::forbidden("this needs the role admin")) }
    }

    pub fn is_operator(&self) -> bool {
        self.credential == Credential::Operator
    }
}

pub fn only_makes_calls() -> Refusal {
    Refusal::forbidden("a node's token is for the calls that it makes, and for nothing else")
}

pub fn only_delivers() -> Refusal {
    Refusal::forbidden("a channel token only delivers messages")
}
