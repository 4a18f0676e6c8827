//! Projects of a workspace.

use crate::rows::{Row, from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Error, Result, Tx};
use domain::ids::{ProjectId, SessionId, UserId, WorkspaceId};
use domain::projects::{Project, ProjectApproval};

pub struct Projects<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// Reads `workspace, id, name, key_conventions, approval, created_by, created_at, sum`.
fn read(mut row: Row) -> Result<Project> {
    let (workspace, id) = (WorkspaceId::from_trusted(row.text()?), ProjectId::from_trusted(row.text()?));
    let (name, conventions) = (row.text()?, row.optional_text()?);
    let key_conventions = conventions.as_deref().map(from_json).transpose()?;
    let approval = approval_of(row.optional_text()?.as_deref())?;
    let (created_by, created_at) = (UserId::from_trusted(row.text()?), row.time()?);
    let project = Project { workspace, id, name, key_conventions, approval, created_by, created_at };
    sums::check(row.optional_integer()?, || sum(&project, conventions.as_deref()), "a project")?;
    Ok(project)
}

fn approval_of(text: Option<&str>) -> Result<ProjectApproval> {
    let Some(text) = text else { return Ok(ProjectApproval::default()) };
    ProjectApproval::parse(text).ok_or_else(|| Error::BadRow("the approval of a project".into()))
}

/// As it is kept: what a project does not ask for itself is not there.
fn kept(approval: ProjectApproval) -> Option<&'static str> {
    (approval != ProjectApproval::default()).then(|| approval.as_str())
}

fn sum(project: &Project, conventions: Option<&str>) -> i64 {
    Sum::default()
        .text(project.workspace.as_str())
        .text(project.id.as_str())
        .text(project.name.as_str())
        .text(conventions)
        .text(project.created_by.as_str())
        .time(project.created_at)
        .added(kept(project.approval))
        .finish()
}

impl Tx {
    /// The projects of that id or name in the workspaces that `user` is a member of: none, one, or (enough to know) two.
    pub async fn projects_seen_by(
        &mut self,
        user: &UserId,
        id_or_name: &str,
        workspace: Option<&WorkspaceId>,
    ) -> Result<Vec<Project>> {
        let rows = self
            .query(
                "SELECT p.workspace, p.id, p.name, p.key_conventions, p.approval, p.created_by, p.created_at, p.sum
                   FROM members m JOIN projects p ON p.workspace = m.workspace
                  WHERE m.user_id = $1 AND (p.id = $2 OR p.name = $2)
                    AND (CAST($3 AS TEXT) IS NULL OR p.workspace = $3) ORDER BY p.workspace LIMIT 2",
                params![user.as_str(), id_or_name, workspace.map(WorkspaceId::as_str)],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// For the house's own view: the project of that id, wherever it is.
    pub async fn project_anywhere(&mut self, id: &ProjectId) -> Result<Option<Project>> {
        let row = self
            .query_one(
                "SELECT workspace, id, name, key_conventions, approval, created_by, created_at, sum FROM projects
                  WHERE id = $1",
                params![id.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// The projects a user can see, in order of their ids, which is that of their making.
    pub async fn projects_page(
        &mut self,
        user: &UserId,
        workspace: Option<&WorkspaceId>,
        after: &str,
        limit: u64,
    ) -> Result<Vec<Project>> {
        let rows = self
            .query(
                "SELECT p.workspace, p.id, p.name, p.key_conventions, p.approval, p.created_by, p.created_at, p.sum
                   FROM members m JOIN projects p ON p.workspace = m.workspace
                  WHERE m.user_id = $1 AND (CAST($2 AS TEXT) IS NULL OR p.workspace = $2) AND p.id > $3
                  ORDER BY p.id LIMIT $4",
                params![user.as_str(), workspace.map(WorkspaceId::as_str), after, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }
}

impl Projects<'_> {
    pub async fn count(&mut self) -> Result<u64> {
        let sql = "SELECT COUNT(*) FROM projects WHERE workspace = $1";
        let row = self.tx.query_one(sql, params![self.workspace.as_str()]).await?;
        row.map_or(Ok(0), |mut row| row.count())
    }

    /// Answers whether the name was free.
    pub async fn create(&mut self, project: &Project) -> Result<bool> {
        let conventions = project.key_conventions.as_ref().map(to_json).transpose()?;
        let created = self
            .tx
            .execute(
                "INSERT INTO projects (workspace, id, name, key_conventions, approval, created_by, created_at, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (workspace, name) DO NOTHING",
                params![
                    self.workspace.as_str(),
                    project.id.as_str(),
                    project.name.as_str(),
                    conventions.as_deref(),
                    kept(project.approval),
                    project.created_by.as_str(),
                    project.created_at,
                    sum(project, conventions.as_deref()),
                ],
            )
            .await?;
        Ok(created == 1)
    }

    pub async fn named(&mut self, name: &str) -> Result<Option<Project>> {
        let row = self
            .tx
            .query_one(
                "SELECT workspace, id, name, key_conventions, approval, created_by, created_at, sum FROM projects
                  WHERE workspace = $1 AND name = $2",
                params![self.workspace.as_str(), name],
            )
            .await?;
        row.map(read).transpose()
    }

    pub async fn get(&mut self, id: &ProjectId) -> Result<Option<Project>> {
        let row = self
            .tx
            .query_one(
                "SELECT workspace, id, name, key_conventions, approval, created_by, created_at, sum FROM projects
                  WHERE workspace = $1 AND id = $2",
                params![self.workspace.as_str(), id.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// Whether a session of the project is not archived.
    pub async fn has_open_session(&mut self, id: &ProjectId) -> Result<bool> {
        let row = self
            .tx
            .query_one(
                "SELECT id FROM sessions
                  WHERE workspace = $1 AND project = $2 AND project IS NOT NULL AND archived_at IS NULL LIMIT 1",
                params![self.workspace.as_str(), id.as_str()],
            )
            .await?;
        Ok(row.is_some())
    }

    pub async fn is_name_taken(&mut self, name: &str, by_other_than: &ProjectId) -> Result<bool> {
        let row = self
            .tx
            .query_one(
                "SELECT id FROM projects WHERE workspace = $1 AND name = $2 AND id <> $3",
                params![self.workspace.as_str(), name, by_other_than.as_str()],
            )
            .await?;
        Ok(row.is_some())
    }

    pub async fn save(&mut self, project: &Project) -> Result<()> {
        let conventions = project.key_conventions.as_ref().map(to_json).transpose()?;
        self.tx
            .execute(
                "UPDATE projects SET name = $1, key_conventions = $2, approval = $3, sum = $4
                  WHERE workspace = $5 AND id = $6",
                params![
                    project.name.as_str(),
                    conventions.as_deref(),
                    kept(project.approval),
                    sum(project, conventions.as_deref()),
                    self.workspace.as_str(),
                    project.id.as_str(),
                ],
            )
            .await?;
        Ok(())
    }

    pub async fn ids(&mut self) -> Result<Vec<ProjectId>> {
        let sql = "SELECT id FROM projects WHERE workspace = $1 ORDER BY id";
        let rows = self.tx.query(sql, params![self.workspace.as_str()]).await?;
        rows.into_iter().map(|mut row| row.text().map(ProjectId::from_trusted)).collect()
    }

    /// Its sessions with the uid that tells each from another of the same id.
    pub async fn sessions(&mut self, id: &ProjectId) -> Result<Vec<(SessionId, String)>> {
        let rows = self
            .tx
            .query(
                "SELECT id, uid FROM sessions WHERE workspace = $1 AND project = $2 AND project IS NOT NULL ORDER BY id",
                params![self.workspace.as_str(), id.as_str()],
            )
            .await?;
        rows.into_iter().map(|mut row| Ok((SessionId::from_trusted(row.text()?), row.text()?))).collect()
    }

    /// Removes the bare row; agents and sessions go before it.
    pub async fn remove(&mut self, id: &ProjectId) -> Result<()> {
        let sql = "DELETE FROM projects WHERE workspace = $1 AND id = $2";
        self.tx.execute(sql, params![self.workspace.as_str(), id.as_str()]).await?;
        Ok(())
    }
}
