//! Sessions of a workspace, with the counters of their shared context.

use crate::rows::{Row, from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Error, Result, Tx};
use domain::events::StreamId;
use domain::ids::{ProjectId, SessionId, UserId, WorkspaceId};
use domain::sessions::{ContextCounters, Session, SessionState};
use domain::times::Timestamp;

pub struct Sessions<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

fn read(mut row: Row) -> Result<Session> {
    let (workspace, id) = (WorkspaceId::from_trusted(row.text()?), SessionId::from_trusted(row.text()?));
    let (uid, title) = (row.text()?, row.optional_text()?);
    let state = match row.text()?.as_str() {
        "active" => SessionState::Active,
        "archived" => SessionState::Archived,
        _ => return Err(Error::BadRow("a session's state".into())),
    };
    let stored_config = row.text()?;
    let session = Session {
        workspace,
        id,
        uid,
        project: None,
        title,
        state,
        config: from_json(&stored_config)?,
        created_by: UserId::from_trusted(row.text()?),
        created_at: row.time()?,
        archived_at: row.optional_time()?,
        counters: ContextCounters {
            rev: row.count()?,
            total_tokens: row.count()?,
            keys: row.count()?,
            event_seq: row.count()?,
            history_floor: row.count()?,
            next_expiry: row.optional_time()?,
        },
    };
    let session = Session { project: row.optional_text()?.map(ProjectId::from_trusted), ..session };
    sums::check(row.optional_integer()?, || sum(&session, &stored_config), "a session")?;
    Ok(session)
}

fn sum(session: &Session, config: &str) -> i64 {
    let counters = &session.counters;
    Sum::default()
        .text(session.workspace.as_str())
        .text(session.id.as_str())
        .text(session.uid.as_str())
        .text(session.title.as_deref())
        .text(session.state.as_str())
        .text(config)
        .text(session.created_by.as_str())
        .time(session.created_at)
        .time(session.archived_at)
        .count(counters.rev)
        .count(counters.total_tokens)
        .count(counters.keys)
        .count(counters.event_seq)
        .count(counters.history_floor)
        .time(counters.next_expiry)
        .added(session.project.as_ref().map(ProjectId::as_str))
        .finish()
}

impl Tx {
    /// The sessions of that id in the workspaces that `user` is a member of: none, one, or (enough to know) two.
    pub async fn sessions_seen_by(&mut self, user: &UserId, id: &SessionId) -> Result<Vec<Session>> {
        let rows = self
            .query(
                "SELECT s.workspace, s.id, s.uid, s.title, s.state, s.config, s.created_by, s.created_at, s.archived_at,
                        s.rev, s.total_tokens, s.keys, s.event_seq, s.history_floor, s.next_expiry, s.project, s.sum
                   FROM sessions s JOIN members m ON m.workspace = s.workspace
                  WHERE s.id = $1 AND m.user_id = $2 ORDER BY s.workspace LIMIT 2",
                params![id.as_str(), user.as_str()],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// For the house's own view: the sessions of that id anywhere.
    pub async fn sessions_anywhere(&mut self, id: &SessionId) -> Result<Vec<Session>> {
        let rows = self
            .query(
                "SELECT workspace, id, uid, title, state, config, created_by, created_at, archived_at,
                        rev, total_tokens, keys, event_seq, history_floor, next_expiry, project, sum
                   FROM sessions WHERE id = $1 ORDER BY workspace LIMIT 2",
                params![id.as_str()],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// The sessions a user can see, in order of workspace and id, after a cursor.
    pub async fn sessions_page(
        &mut self,
        user: &UserId,
        workspace: Option<&WorkspaceId>,
        after: (&str, &str),
        limit: u64,
    ) -> Result<Vec<Session>> {
        let rows = self
            .query(
                "SELECT s.workspace, s.id, s.uid, s.title, s.state, s.config, s.created_by, s.created_at, s.archived_at,
                        s.rev, s.total_tokens, s.keys, s.event_seq, s.history_floor, s.next_expiry, s.project, s.sum
                   FROM members m JOIN sessions s ON s.workspace = m.workspace
                  WHERE m.user_id = $1 AND (CAST($2 AS TEXT) IS NULL OR s.workspace = $2)
                    AND (s.workspace, s.id) > ($3, $4)
                  ORDER BY s.workspace, s.id LIMIT $5",
                params![user.as_str(), workspace.map(WorkspaceId::as_str), after.0, after.1, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Active sessions with a key that has expired by `now`.
    pub async fn sessions_with_expired_keys(
        &mut self,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<(WorkspaceId, SessionId)>> {
        let rows = self
            .query(
                "SELECT workspace, id FROM sessions
                  WHERE next_expiry IS NOT NULL AND archived_at IS NULL AND next_expiry <= $1
                  ORDER BY next_expiry LIMIT $2",
                params![now, limit],
            )
            .await?;
        rows.into_iter()
            .map(|mut row| Ok((WorkspaceId::from_trusted(row.text()?), SessionId::from_trusted(row.text()?))))
            .collect()
    }

    /// When the next key of any active session expires.
    pub async fn next_expiry(&mut self) -> Result<Option<Timestamp>> {
        let row = self
            .query_one(
                "SELECT next_expiry FROM sessions WHERE next_expiry IS NOT NULL AND archived_at IS NULL
                  ORDER BY next_expiry LIMIT 1",
                params![],
            )
            .await?;
        row.map(|mut row| row.time()).transpose()
    }
}

impl Sessions<'_> {
    pub async fn get(&mut self, id: &SessionId) -> Result<Option<Session>> {
        let row = self
            .tx
            .query_one(
                "SELECT workspace, id, uid, title, state, config, created_by, created_at, archived_at,
                        rev, total_tokens, keys, event_seq, history_floor, next_expiry, project, sum
                   FROM sessions WHERE workspace = $1 AND id = $2",
                params![self.workspace.as_str(), id.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// Answers whether the id was free.
    pub async fn create(&mut self, session: &Session) -> Result<bool> {
        let config = to_json(&session.config)?;
        let created = self
            .tx
            .execute(
                "INSERT INTO sessions (workspace, id, uid, title, state, config, created_by, created_at,
                                       rev, total_tokens, keys, event_seq, history_floor, project, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, 0, 0, $9, $10) ON CONFLICT (workspace, id) DO NOTHING",
                params![
                    self.workspace.as_str(),
                    session.id.as_str(),
                    session.uid.as_str(),
                    session.title.as_deref(),
                    session.state.as_str(),
                    config.as_str(),
                    session.created_by.as_str(),
                    session.created_at,
                    session.project.as_ref().map(ProjectId::as_str),
                    sum(session, &config),
                ],
            )
            .await?;
        Ok(created == 1)
    }

    /// Saves what changes in the life of a session: its state and its counters. The settings are written again because
    /// the sum is over their text.
    pub async fn save(&mut self, session: &Session) -> Result<()> {
        let counters = &session.counters;
        let config = to_json(&session.config)?;
        self.tx
            .execute(
                "UPDATE sessions SET state = $1, archived_at = $2, rev = $3, total_tokens = $4, keys = $5,
                                     event_seq = $6, history_floor = $7, next_expiry = $8, config = $9, sum = $10
                  WHERE workspace = $11 AND id = $12",
                params![
                    session.state.as_str(),
                    session.archived_at,
                    counters.rev,
                    counters.total_tokens,
                    counters.keys,
                    counters.event_seq,
                    counters.history_floor,
                    counters.next_expiry,
                    config.as_str(),
                    sum(session, &config),
                    self.workspace.as_str(),
                    session.id.as_str(),
                ],
            )
            .await?;
        Ok(())
    }

    /// Removes the session and everything in it. The audit stays.
    pub async fn remove(&mut self, id: &SessionId) -> Result<()> {
        self.tx.scope(self.workspace).events().remove(&StreamId::of_session(id)).await?;
        let deletions = [
            "DELETE FROM snapshot_entries WHERE workspace = $1 AND session = $2",
            "DELETE FROM snapshots WHERE workspace = $1 AND session = $2",
            "DELETE FROM context_history WHERE workspace = $1 AND session = $2",
            "DELETE FROM context_entries WHERE workspace = $1 AND session = $2",
            "DELETE FROM messages WHERE workspace = $1 AND session = $2",
            "DELETE FROM tasks WHERE workspace = $1 AND session = $2",
            "DELETE FROM place_sessions WHERE workspace = $1 AND session = $2",
            "DELETE FROM sessions WHERE workspace = $1 AND id = $2",
        ];
        for sql in deletions {
            self.tx.execute(sql, params![self.workspace.as_str(), id.as_str()]).await?;
        }
        Ok(())
    }
}
