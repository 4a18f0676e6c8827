//! Agents of a project.

use crate::rows::{Param, Row, from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Error, Result, Tx};
use domain::agents::{Agent, Audience, Visibility};
use domain::ids::{AgentId, ProjectId, UserId, WorkspaceId};
use domain::times::Timestamp;

pub struct Agents<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
    pub(crate) project: &'t ProjectId,
}

/// Reads `workspace, project, id, name, visibility, audience, settings, created_by, created_at, updated_at, sum`.
fn read(mut row: Row) -> Result<Agent> {
    let (workspace, project) = (WorkspaceId::from_trusted(row.text()?), ProjectId::from_trusted(row.text()?));
    let (id, name) = (AgentId::from_trusted(row.text()?), row.text()?);
    let visibility = match row.text()?.as_str() {
        "private" => Visibility::Private,
        "shared" => Visibility::Shared,
        _ => return Err(Error::BadRow("an agent's visibility".into())),
    };
    let audience = match row.text()?.as_str() {
        "workspace" => Audience::Workspace,
        "everyone" => Audience::Everyone,
        _ => return Err(Error::BadRow("an agent's audience".into())),
    };
    let stored = row.text()?;
    let settings = from_json(&stored)?;
    let (created_by, created_at, updated_at) = (UserId::from_trusted(row.text()?), row.time()?, row.time()?);
    let agent =
        Agent { workspace, project, id, name, visibility, audience, settings, created_by, created_at, updated_at };
    sums::check(row.optional_integer()?, || sum(&agent, &stored), "an agent")?;
    Ok(agent)
}

fn sum(agent: &Agent, settings: &str) -> i64 {
    Sum::default()
        .text(agent.workspace.as_str())
        .text(agent.project.as_str())
        .text(agent.id.as_str())
        .text(agent.name.as_str())
        .text(agent.visibility.as_str())
        .text(agent.audience.as_str())
        .text(settings)
        .text(agent.created_by.as_str())
        .time(agent.created_at)
        .time(agent.updated_at)
        .finish()
}

impl Tx {
    /// An agent that `user` may see: one of the user's workspaces, or a shared one that is shown to everyone.
    pub async fn agent_seen_by(&mut self, user: &UserId, id: &AgentId) -> Result<Option<Agent>> {
        let row = self
            .query_one(
                "SELECT workspace, project, id, name, visibility, audience, settings, created_by, created_at,
                        updated_at, sum
                   FROM agents
                  WHERE id = $1 AND (audience = 'everyone'
                                     OR workspace IN (SELECT workspace FROM members WHERE user_id = $2))",
                params![id.as_str(), user.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// The agent with its rows wherever it is: for what was published to it.
    pub async fn agent_anywhere(&mut self, id: &AgentId) -> Result<Option<Agent>> {
        let row = self
            .query_one(
                "SELECT workspace, project, id, name, visibility, audience, settings, created_by, created_at,
                        updated_at, sum
                   FROM agents WHERE id = $1",
                params![id.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// The shared agents that `user` may see, in order of id, each with whether the user is a member of its workspace.
    pub async fn shared_agents_page(&mut self, user: &UserId, after: &str, limit: u64) -> Result<Vec<(Agent, bool)>> {
        let rows = self
            .query(
                "SELECT CAST(1 AS BIGINT) AS member, a.workspace, a.project, a.id AS id, a.name, a.visibility,
                        a.audience, a.settings, a.created_by, a.created_at, a.updated_at, a.sum
                   FROM members m JOIN agents a ON a.workspace = m.workspace
                  WHERE m.user_id = $1 AND a.visibility = 'shared' AND a.id > $2
                 UNION ALL
                 SELECT CAST(0 AS BIGINT), a.workspace, a.project, a.id, a.name, a.visibility,
                        a.audience, a.settings, a.created_by, a.created_at, a.updated_at, a.sum
                   FROM agents a
                  WHERE a.audience = 'everyone' AND a.visibility = 'shared' AND a.id > $2
                    AND NOT EXISTS (SELECT 1 FROM members m WHERE m.workspace = a.workspace AND m.user_id = $1)
                  ORDER BY id LIMIT $3",
                params![user.as_str(), after, limit],
            )
            .await?;
        let pairs = rows.into_iter().map(|mut row| {
            let is_member = row.integer()? == 1;
            Ok((read(row)?, is_member))
        });
        pairs.collect()
    }

    /// The agents of every project that `user` can see with an id after `after` up to `last`, project by project.
    pub async fn agents_of_projects(&mut self, user: &UserId, after: &str, last: &ProjectId) -> Result<Vec<Agent>> {
        let rows = self
            .query(
                "SELECT a.workspace, a.project, a.id, a.name, a.visibility, a.audience, a.settings, a.created_by,
                        a.created_at, a.updated_at, a.sum
                   FROM members m JOIN agents a ON a.workspace = m.workspace
                  WHERE m.user_id = $1 AND a.project > $2 AND a.project <= $3 ORDER BY a.project, a.id",
                params![user.as_str(), after, last.as_str()],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// An agent that goes, or changes what it is, takes its tokens along.
    pub async fn revoke_agent_tokens(&mut self, agent: &AgentId, at: Timestamp) -> Result<u64> {
        self.execute(
            "UPDATE tokens SET revoked_at = $1 WHERE agent = $2 AND agent IS NOT NULL AND revoked_at IS NULL",
            params![at, agent.as_str()],
        )
        .await
    }
}

impl Agents<'_> {
    async fn select(&mut self, sql: &'static str, extra: &[Param<'_>]) -> Result<Vec<Agent>> {
        let mut all = vec![Param::from(self.workspace.as_str()), Param::from(self.project.as_str())];
        all.extend_from_slice(extra);
        self.tx.query(sql, &all).await?.into_iter().map(read).collect()
    }

    /// In the order they were made.
    pub async fn all(&mut self) -> Result<Vec<Agent>> {
        self.select(
            "SELECT workspace, project, id, name, visibility, audience, settings, created_by, created_at, updated_at, sum
               FROM agents WHERE workspace = $1 AND project = $2 ORDER BY id",
            &[],
        )
        .await
    }

    pub async fn get(&mut self, id: &AgentId) -> Result<Option<Agent>> {
        let found = self
            .select(
                "SELECT workspace, project, id, name, visibility, audience, settings, created_by, created_at,
                        updated_at, sum
                   FROM agents WHERE workspace = $1 AND project = $2 AND id = $3",
                params![id.as_str()],
            )
            .await?;
        Ok(found.into_iter().next())
    }

    pub async fn count(&mut self) -> Result<u64> {
        let sql = "SELECT COUNT(*) FROM agents WHERE workspace = $1 AND project = $2";
        let row = self.tx.query_one(sql, params![self.workspace.as_str(), self.project.as_str()]).await?;
        row.map_or(Ok(0), |mut row| row.count())
    }

    pub async fn find(&mut self, id_or_name: &str) -> Result<Option<Agent>> {
        let found = self
            .select(
                "SELECT workspace, project, id, name, visibility, audience, settings, created_by, created_at,
                        updated_at, sum
                   FROM agents WHERE workspace = $1 AND project = $2 AND (id = $3 OR name = $3)
                  ORDER BY CASE WHEN id = $3 THEN 0 ELSE 1 END LIMIT 1",
                params![id_or_name],
            )
            .await?;
        Ok(found.into_iter().next())
    }

    /// Answers whether the name was free.
    pub async fn create(&mut self, agent: &Agent) -> Result<bool> {
        let settings = to_json(&agent.settings)?;
        let created = self
            .tx
            .execute(
                "INSERT INTO agents (workspace, project, id, name, visibility, audience, settings, created_by,
                                     created_at, updated_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                 ON CONFLICT (workspace, project, name) DO NOTHING",
                params![
                    self.workspace.as_str(),
                    self.project.as_str(),
                    agent.id.as_str(),
                    agent.name.as_str(),
                    agent.visibility.as_str(),
                    agent.audience.as_str(),
                    settings.as_str(),
                    agent.created_by.as_str(),
                    agent.created_at,
                    agent.updated_at,
                    sum(agent, &settings),
                ],
            )
            .await?;
        Ok(created == 1)
    }

    pub async fn save(&mut self, agent: &Agent) -> Result<()> {
        let settings = to_json(&agent.settings)?;
        self.tx
            .execute(
                "UPDATE agents SET name = $1, visibility = $2, audience = $3, settings = $4, updated_at = $5, sum = $6
                  WHERE workspace = $7 AND project = $8 AND id = $9",
                params![
                    agent.name.as_str(),
                    agent.visibility.as_str(),
                    agent.audience.as_str(),
                    settings.as_str(),
                    agent.updated_at,
                    sum(agent, &settings),
                    self.workspace.as_str(),
                    self.project.as_str(),
                    agent.id.as_str(),
                ],
            )
            .await?;
        Ok(())
    }

    /// Removes the bare row; its items, publications and tokens go before it.
    pub async fn remove(&mut self, id: &AgentId) -> Result<()> {
        let sql = "DELETE FROM agents WHERE workspace = $1 AND project = $2 AND id = $3";
        let params = params![self.workspace.as_str(), self.project.as_str(), id.as_str()];
        self.tx.execute(sql, params).await?;
        Ok(())
    }
}
