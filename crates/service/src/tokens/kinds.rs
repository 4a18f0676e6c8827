//! What tokens are for. A token never reaches more than its maker does.

use crate::sessions::{self, SessionRef};
use crate::users::house_chain;
use crate::{Error, Result};
use domain::Refusal;
use domain::agents::Agent;
use domain::callers::Caller;
use domain::ids::{AgentId, UserId, WorkspaceId};
use domain::participants::Participant;
use domain::sessions::Session;
use domain::tokens::{AgentPlace, TokenKind};
use std::sync::Arc;
use store::{Operation, Tx};

/// What kind of token is wanted.
#[derive(Debug, Clone)]
pub enum Wanted {
    User,
    Session {
        session: SessionRef,
        participant: Option<Participant>,
    },
    /// For an agent, in one session or wherever the agent takes part.
    Agent {
        agent: AgentId,
        session: Option<SessionRef>,
        participant: Option<Participant>,
    },
    Channel {
        channel: String,
    },
}

/// Finds out what a wanted token is for, if `user` may have it: its kind, and the chain its audit row belongs to.
pub(crate) struct Settle {
    pub(crate) caller: Arc<Caller>,
    pub(crate) user: UserId,
    pub(crate) wanted: Wanted,
}

impl Operation for Settle {
    type Output = (TokenKind, WorkspaceId);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<(TokenKind, WorkspaceId)> {
        match &self.wanted {
            Wanted::User => Ok((TokenKind::User, WorkspaceId::personal(&self.user))),
            Wanted::Channel { channel } => Ok((TokenKind::Channel { channel: channel.clone() }, house_chain())),
            Wanted::Session { session, participant } => {
                let session = sessions::find_seen_by(tx, &self.user, session).await?;
                self.may_speak_for_others(&session)?;
                let participant = participant.clone().unwrap_or_else(Participant::orchestrator);
                let (workspace, session) = (session.workspace, Some(session.id));
                let kind = TokenKind::Agent { workspace: workspace.clone(), agent: None, session, participant };
                Ok((kind, workspace))
            }
            Wanted::Agent { agent, session, participant } => {
                self.settle_agent(tx, agent, session.as_ref(), participant.as_ref()).await
            }
        }
    }
}

impl Settle {
    async fn settle_agent(
        &self,
        tx: &mut Tx,
        agent: &AgentId,
        session: Option<&SessionRef>,
        participant: Option<&Participant>,
    ) -> Result<(TokenKind, WorkspaceId)> {
        let agent = tx.agent_seen_by(&self.user, agent).await?.ok_or_else(Refusal::agent_id_not_found)?;
        if !tx.is_member(&self.user, &agent.workspace).await? {
            let message = "you may publish to this agent; talking to it needs membership in its workspace";
            return Err(Refusal::forbidden(message).into());
        }
        let session = match session {
            None => None,
            Some(reference) => Some(self.session_for(tx, &agent, reference).await?.id),
        };
        let participant = participant.cloned().unwrap_or_else(|| agent.participant());
        let place = AgentPlace { project: agent.project, id: agent.id };
        let workspace = agent.workspace;
        let kind = TokenKind::Agent { workspace: workspace.clone(), agent: Some(place), session, participant };
        Ok((kind, workspace))
    }

    /// An agent works in sessions of its own workspace, and of its own project where they have one.
    async fn session_for(&self, tx: &mut Tx, agent: &Agent, reference: &SessionRef) -> Result<Session> {
        let workspace = reference.workspace.clone().unwrap_or_else(|| agent.workspace.as_str().to_owned());
        let reference = SessionRef { id: reference.id.clone(), workspace: Some(workspace) };
        let session = sessions::find_seen_by(tx, &self.user, &reference).await?;
        let of_project = session.project.as_ref().is_none_or(|project| *project == agent.project);
        if session.workspace != agent.workspace || !of_project {
            let message = "the agent and the session are of different workspaces or projects";
            return Err(Refusal::invalid_field("session", message).into());
        }
        self.may_speak_for_others(&session)?;
        Ok(session)
    }

    /// Where keys are hidden from some, a token for another participant could show its maker what the maker may
    /// not see. There only the session's creator hands them out.
    fn may_speak_for_others(&self, session: &Session) -> Result<()> {
        if !session.config.acl || session.created_by == self.user || self.caller.is_operator() {
            return Ok(());
        }
        Err(Refusal::forbidden("in a session with access lists only its creator makes tokens for participants").into())
    }
}
