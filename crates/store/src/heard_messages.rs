//! Messages of channels that were taken, and the session that a workspace has for a place.

use crate::rows::params;
use crate::sums::{self, Sum};
use crate::{Result, Tx};
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::times::Timestamp;

/// A message that was taken, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct HeardMessage {
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// JSON.
    pub outcome: String,
}

fn sum(key: &str, heard: &HeardMessage, at: Timestamp) -> i64 {
    let whose = Sum::default().text(key).text(heard.workspace.as_str()).text(heard.user.as_str());
    whose.text(heard.outcome.as_str()).time(at).finish()
}

/// The house's own view: where a message belongs is not known before it was looked for.
impl Tx {
    pub async fn heard_message(&mut self, key: &str) -> Result<Option<HeardMessage>> {
        let row = self
            .query_one(
                "SELECT workspace, user_id, outcome, heard_at, sum FROM heard_messages WHERE key = $1",
                params![key],
            )
            .await?;
        row.map(|mut row| {
            let (workspace, user) = (WorkspaceId::from_trusted(row.text()?), UserId::from_trusted(row.text()?));
            let (heard, at) = (HeardMessage { workspace, user, outcome: row.text()? }, row.time()?);
            sums::check(row.optional_integer()?, || sum(key, &heard, at), "a message of a channel")?;
            Ok(heard)
        })
        .transpose()
    }

    pub async fn note_heard(&mut self, key: &str, heard: &HeardMessage, at: Timestamp) -> Result<()> {
        self.execute(
            "INSERT INTO heard_messages (key, workspace, user_id, outcome, heard_at, sum)
             VALUES ($1, $2, $3, $4, $5, $6)",
            params![
                key,
                heard.workspace.as_str(),
                heard.user.as_str(),
                heard.outcome.as_str(),
                at,
                sum(key, heard, at)
            ],
        )
        .await?;
        Ok(())
    }

    /// Forgets messages that no provider brings again.
    pub async fn purge_heard(&mut self, before: Timestamp, limit: u64) -> Result<u64> {
        self.execute(
            "DELETE FROM heard_messages WHERE key IN
               (SELECT key FROM heard_messages WHERE heard_at < $1 ORDER BY heard_at LIMIT $2)",
            params![before, limit],
        )
        .await
    }
}

pub struct PlaceSessions<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

fn sum_of_place(workspace: &WorkspaceId, place: &str, session: &str, since: Timestamp) -> i64 {
    Sum::default().text(workspace.as_str()).text(place).text(session).time(since).finish()
}

impl PlaceSessions<'_> {
    /// The session of a place, whatever state it is in by now.
    pub async fn of(&mut self, place: &str) -> Result<Option<SessionId>> {
        let row = self
            .tx
            .query_one(
                "SELECT session, since, sum FROM place_sessions WHERE workspace = $1 AND place = $2",
                params![self.workspace.as_str(), place],
            )
            .await?;
        row.map(|mut row| {
            let (session, since) = (row.text()?, row.time()?);
            let made = || sum_of_place(self.workspace, place, &session, since);
            sums::check(row.optional_integer()?, made, "the session of a place")?;
            Ok(SessionId::from_trusted(session))
        })
        .transpose()
    }

    pub async fn put(&mut self, place: &str, session: &SessionId, since: Timestamp) -> Result<()> {
        self.tx
            .execute(
                "INSERT INTO place_sessions (workspace, place, session, since, sum) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (workspace, place) DO UPDATE SET session = $3, since = $4, sum = $5",
                params![
                    self.workspace.as_str(),
                    place,
                    session.as_str(),
                    since,
                    sum_of_place(self.workspace, place, session.as_str(), since),
                ],
            )
            .await?;
        Ok(())
    }

    /// Forgets the session of a place: the next message begins another.
    pub async fn forget(&mut self, place: &str) -> Result<()> {
        self.tx
            .execute(
                "DELETE FROM place_sessions WHERE workspace = $1 AND place = $2",
                params![self.workspace.as_str(), place],
            )
            .await?;
        Ok(())
    }
}
