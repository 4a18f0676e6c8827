//! Tokens as they were issued. The signed text is never stored.

use crate::rows::{Row, params};
use crate::{Error, Result, Tx};
use domain::ids::{AgentId, NodeId, ProjectId, SessionId, TokenId, UserId, WorkspaceId};
use domain::participants::Participant;
use domain::times::Timestamp;
use domain::tokens::{AgentPlace, Token, TokenKind};

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, kind, workspace, session, participant, channel, project, agent, node, label, created_at,
                    expires_at, revoked_at, made_by
               FROM tokens ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<Token> {
    let (id, user, kind) = (row.text()?, row.text()?, row.text()?);
    let (workspace, session) = (row.optional_text()?, row.optional_text()?);
    let (participant, channel) = (row.optional_text()?, row.optional_text()?);
    let agent = match (row.optional_text()?, row.optional_text()?) {
        (Some(project), Some(id)) => {
            Some(AgentPlace { project: ProjectId::from_trusted(project), id: AgentId::from_trusted(id) })
        }
        _ => None,
    };
    let node = row.optional_text()?.map(NodeId::from_trusted);
    let kind = match (kind.as_str(), workspace, session, participant, channel) {
        ("user", ..) => TokenKind::User,
        ("agent", Some(workspace), session, Some(participant), _) if agent.is_some() || session.is_some() => {
            TokenKind::Agent {
                workspace: WorkspaceId::from_trusted(workspace),
                agent,
                session: session.map(SessionId::from_trusted),
                participant: Participant::from_trusted(participant),
            }
        }
        ("channel", _, _, _, Some(channel)) => TokenKind::Channel { channel },
        ("node", Some(workspace), ..) if node.is_some() => {
            let node = node.ok_or_else(|| Error::BadRow("a token's node".into()))?;
            TokenKind::Node { workspace: WorkspaceId::from_trusted(workspace), node }
        }
        _ => return Err(Error::BadRow("a token's kind".into())),
    };
    Ok(Token {
        id: TokenId::from_trusted(id),
        user: UserId::from_trusted(user),
        kind,
        label: row.optional_text()?,
        created_at: row.time()?,
        expires_at: row.time()?,
        revoked_at: row.optional_time()?,
        made_by: row.optional_text()?.map(TokenId::from_trusted),
    })
}

impl Tx {
    pub async fn create_token(&mut self, token: &Token) -> Result<()> {
        let (workspace, session, participant, channel, agent) = match &token.kind {
            TokenKind::User => (None, None, None, None, None),
            TokenKind::Agent { workspace, agent, session, participant } => {
                let session = session.as_ref().map(SessionId::as_str);
                (Some(workspace.as_str()), session, Some(participant.as_str()), None, agent.as_ref())
            }
            TokenKind::Channel { channel } => (None, None, None, Some(channel.as_str()), None),
            TokenKind::Node { workspace, .. } => (Some(workspace.as_str()), None, None, None, None),
        };
        let node = if let TokenKind::Node { node, .. } = &token.kind { Some(node.as_str()) } else { None };
        self.execute(
            "INSERT INTO tokens (id, user_id, kind, workspace, session, participant, channel, label, created_at,
                                 expires_at, made_by, project, agent, node)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            params![
                token.id.as_str(),
                token.user.as_str(),
                token.kind.as_str(),
                workspace,
                session,
                participant,
                channel,
                token.label.as_deref(),
                token.created_at,
                token.expires_at,
                token.made_by.as_ref().map(TokenId::as_str),
                agent.map(|agent| agent.project.as_str()),
                agent.map(|agent| agent.id.as_str()),
                node,
            ],
        )
        .await?;
        Ok(())
    }

    pub async fn token(&mut self, id: &TokenId) -> Result<Option<Token>> {
        let row = self.query_one(selected!("WHERE id = $1"), params![id.as_str()]).await?;
        row.map(read).transpose()
    }

    /// A user's tokens that still open something, in order of id.
    pub async fn live_tokens_page(
        &mut self,
        user: &UserId,
        now: Timestamp,
        after: &str,
        limit: u64,
    ) -> Result<Vec<Token>> {
        let rows = self
            .query(
                selected!(
                    "WHERE user_id = $1 AND id > $2 AND revoked_at IS NULL AND expires_at > $3
                  ORDER BY id LIMIT $4"
                ),
                params![user.as_str(), after, now, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Answers whether the token was live until now.
    pub async fn revoke_token(&mut self, id: &TokenId, at: Timestamp) -> Result<bool> {
        let revoked = self
            .execute("UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", params![at, id.as_str()])
            .await?;
        // Those it made, and those they made, end with it.
        self.execute(
            "WITH RECURSIVE made (id) AS (
               SELECT id FROM tokens WHERE made_by = $1
               UNION SELECT t.id FROM tokens t JOIN made m ON t.made_by = m.id)
             UPDATE tokens SET revoked_at = $2 WHERE revoked_at IS NULL AND id IN (SELECT id FROM made)",
            params![id.as_str(), at],
        )
        .await?;
        Ok(revoked == 1)
    }

    /// A session that goes takes its tokens along, so that a later one of the same name starts with none.
    pub async fn revoke_session_tokens(
        &mut self,
        workspace: &WorkspaceId,
        session: &SessionId,
        at: Timestamp,
    ) -> Result<()> {
        self.execute(
            "UPDATE tokens SET revoked_at = $1 WHERE workspace = $2 AND session = $3 AND revoked_at IS NULL",
            params![at, workspace.as_str(), session.as_str()],
        )
        .await?;
        Ok(())
    }

    /// A node that goes takes its tokens along.
    pub async fn revoke_node_tokens(&mut self, node: &NodeId, at: Timestamp) -> Result<()> {
        self.execute(
            "UPDATE tokens SET revoked_at = $1 WHERE node = $2 AND revoked_at IS NULL",
            params![at, node.as_str()],
        )
        .await?;
        Ok(())
    }

    /// Forgets at most `limit` tokens that ended before `before`.
    pub async fn purge_tokens(&mut self, before: Timestamp, limit: u64) -> Result<u64> {
        self.execute(
            "DELETE FROM tokens WHERE id IN (
               SELECT id FROM tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            params![before, limit],
        )
        .await
    }
}
