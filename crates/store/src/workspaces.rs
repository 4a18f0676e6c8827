//! Workspaces, who belongs to them, and who said so. House rows: they are what scopes are made of.

use crate::rows::{Row, from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Error, Result, Tx};
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::roles::Role;
use domain::times::Timestamp;
use domain::users::Membership;
use domain::workspaces::{Source, WorkspaceSettings};

/// A workspace's own row.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkspaceRow {
    pub id: WorkspaceId,
    pub personal_of: Option<UserId>,
    pub created_at: Timestamp,
    /// Whether an admin made it.
    pub by_admin: bool,
    /// What the file says of it, if it names it.
    pub file: Option<WorkspaceSettings>,
    /// What admins said of it.
    pub admin: Option<WorkspaceSettings>,
}

impl WorkspaceRow {
    /// Whether anybody still says that it is there.
    pub fn is_open(&self) -> bool {
        self.by_admin || self.file.is_some()
    }

    /// What file and admins say, joined. What the file says goes first.
    pub fn settings(&self) -> WorkspaceSettings {
        self.file.clone().unwrap_or_default().or(self.admin.clone().unwrap_or_default())
    }
}

fn sum(id: &str, file: Option<&str>, admin: Option<&str>) -> i64 {
    Sum::default().text(id).text(file).text(admin).finish()
}

/// Reads `id, personal_of, created_at, by_admin, file_settings, admin_settings, settings_sum`.
fn read(mut row: Row) -> Result<WorkspaceRow> {
    let (id, personal_of) = (row.text()?, row.optional_text()?.map(UserId::from_trusted));
    let (created_at, by_admin) = (row.time()?, row.integer()? == 1);
    let (file, admin) = (row.optional_text()?, row.optional_text()?);
    sums::check(row.optional_integer()?, || sum(&id, file.as_deref(), admin.as_deref()), "a workspace's settings")?;
    Ok(WorkspaceRow {
        id: WorkspaceId::from_trusted(id),
        personal_of,
        created_at,
        by_admin,
        file: file.as_deref().map(from_json).transpose()?,
        admin: admin.as_deref().map(from_json).transpose()?,
    })
}

/// Somebody who belongs to a workspace, with everybody who said so.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub user: UserId,
    pub source: Source,
}

pub(crate) fn source(text: &str) -> Result<Source> {
    match text {
        "file" => Ok(Source::File),
        "admin" => Ok(Source::Admin),
        _ => Err(Error::BadRow("a source".into())),
    }
}

impl Tx {
    pub async fn workspace(&mut self, id: &WorkspaceId) -> Result<Option<WorkspaceRow>> {
        let row = self
            .query_one(
                "SELECT id, personal_of, created_at, by_admin, file_settings, admin_settings, settings_sum
                   FROM workspaces WHERE id = $1",
                params![id.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    /// Workspaces that are nobody's own, closed ones too, in order of their names.
    pub async fn workspaces_page(&mut self, after: &str, limit: u64) -> Result<Vec<WorkspaceRow>> {
        let rows = self
            .query(
                "SELECT id, personal_of, created_at, by_admin, file_settings, admin_settings, settings_sum
                   FROM workspaces WHERE personal_of IS NULL AND id > $1 ORDER BY id LIMIT $2",
                params![after, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Every workspace of which the file or an admin said anything.
    pub async fn workspaces_with_settings(&mut self) -> Result<Vec<WorkspaceRow>> {
        let rows = self
            .query(
                "SELECT id, personal_of, created_at, by_admin, file_settings, admin_settings, settings_sum
                   FROM workspaces WHERE file_settings IS NOT NULL OR admin_settings IS NOT NULL ORDER BY id",
                params![],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Makes a workspace that is nobody's own. Answers whether the name was free.
    pub async fn create_workspace(&mut self, id: &WorkspaceId, by: Source, at: Timestamp) -> Result<bool> {
        let created = self
            .execute(
                "INSERT INTO workspaces (id, created_at, by_admin) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
                params![id.as_str(), at, i64::from(by == Source::Admin)],
            )
            .await?;
        Ok(created == 1)
    }

    pub async fn save_workspace_settings(
        &mut self,
        id: &WorkspaceId,
        file: Option<&WorkspaceSettings>,
        admin: Option<&WorkspaceSettings>,
    ) -> Result<()> {
        let (file, admin) = (file.map(to_json).transpose()?, admin.map(to_json).transpose()?);
        let (file, admin) = (file.as_deref(), admin.as_deref());
        self.execute(
            "UPDATE workspaces SET file_settings = $1, admin_settings = $2, settings_sum = $3 WHERE id = $4",
            params![file, admin, sum(id.as_str(), file, admin), id.as_str()],
        )
        .await?;
        Ok(())
    }

    /// Takes away a workspace's own rows; what is in it must be gone by then.
    pub async fn remove_workspace(&mut self, id: &WorkspaceId) -> Result<()> {
        let deletions = [
            "DELETE FROM deliveries WHERE workspace = $1",
            // What people were told is still to be concluded: buttons that lead nowhere do not stay.
            "DELETE FROM notices WHERE workspace = $1 AND (told IS NULL OR ended_at IS NOT NULL)",
            "DELETE FROM place_sessions WHERE workspace = $1",
            "DELETE FROM heard_messages WHERE workspace = $1",
            "DELETE FROM bindings WHERE workspace = $1",
            "DELETE FROM members WHERE workspace = $1",
            "DELETE FROM member_grants WHERE workspace = $1",
            "DELETE FROM workspaces WHERE id = $1",
        ];
        for sql in deletions {
            self.execute(sql, params![id.as_str()]).await?;
        }
        Ok(())
    }

    pub async fn grants(&mut self, workspace: &WorkspaceId) -> Result<Vec<Grant>> {
        let rows = self
            .query(
                "SELECT user_id, source FROM member_grants WHERE workspace = $1 ORDER BY user_id, source",
                params![workspace.as_str()],
            )
            .await?;
        rows.into_iter()
            .map(|mut row| Ok(Grant { user: UserId::from_trusted(row.text()?), source: source(&row.text()?)? }))
            .collect()
    }

    /// Says that somebody belongs there. Answers whether this source had not said so. `settle_members` makes it so.
    pub async fn grant_member(&mut self, workspace: &WorkspaceId, user: &UserId, by: Source) -> Result<bool> {
        let granted = self
            .execute(
                "INSERT INTO member_grants (workspace, user_id, source) VALUES ($1, $2, $3)
                 ON CONFLICT (workspace, user_id, source) DO NOTHING",
                params![workspace.as_str(), user.as_str(), by.as_str()],
            )
            .await?;
        Ok(granted == 1)
    }

    /// Takes back what a source said. Answers whether it had.
    pub async fn withdraw_member(&mut self, workspace: &WorkspaceId, user: &UserId, by: Source) -> Result<bool> {
        let withdrawn = self
            .execute(
                "DELETE FROM member_grants WHERE workspace = $1 AND user_id = $2 AND source = $3",
                params![workspace.as_str(), user.as_str(), by.as_str()],
            )
            .await?;
        Ok(withdrawn == 1)
    }

    /// Makes `members`, which every query goes by, say what follows from the grants: of one workspace, of one person, or
    /// of the whole house. A grant counts while its workspace is open and its person is there.
    pub async fn settle_members(&mut self, workspace: Option<&WorkspaceId>, user: Option<&UserId>) -> Result<()> {
        let about = params![workspace.map(WorkspaceId::as_str), user.map(UserId::as_str)];
        self.execute(
            "DELETE FROM members
              WHERE (CAST($1 AS TEXT) IS NULL OR workspace = $1) AND (CAST($2 AS TEXT) IS NULL OR user_id = $2)
                AND NOT EXISTS (
                  SELECT 1 FROM member_grants g
                    JOIN workspaces w ON w.id = g.workspace JOIN users u ON u.id = g.user_id
                   WHERE g.workspace = members.workspace AND g.user_id = members.user_id
                     AND (w.by_admin = 1 OR w.file_settings IS NOT NULL)
                     AND u.removed_at IS NULL AND (u.by_admin = 1 OR u.file_role IS NOT NULL))",
            about,
        )
        .await?;
        self.execute(
            "INSERT INTO members (workspace, user_id)
             SELECT DISTINCT g.workspace, g.user_id FROM member_grants g
               JOIN workspaces w ON w.id = g.workspace JOIN users u ON u.id = g.user_id
              WHERE (CAST($1 AS TEXT) IS NULL OR g.workspace = $1) AND (CAST($2 AS TEXT) IS NULL OR g.user_id = $2)
                AND (w.by_admin = 1 OR w.file_settings IS NOT NULL)
                AND u.removed_at IS NULL AND (u.by_admin = 1 OR u.file_role IS NOT NULL)
             ON CONFLICT (workspace, user_id) DO NOTHING",
            about,
        )
        .await?;
        Ok(())
    }

    pub async fn memberships(&mut self, user: &UserId) -> Result<Vec<Membership>> {
        let rows = self
            .query(
                "SELECT w.id, w.personal_of FROM members m JOIN workspaces w ON w.id = m.workspace
                  WHERE m.user_id = $1 ORDER BY w.id",
                params![user.as_str()],
            )
            .await?;
        rows.into_iter()
            .map(|mut row| {
                let workspace = WorkspaceId::from_trusted(row.text()?);
                let personal = row.optional_text()?.is_some_and(|owner| owner == user.as_str());
                Ok(Membership { workspace, personal })
            })
            .collect()
    }

    pub async fn is_member(&mut self, user: &UserId, workspace: &WorkspaceId) -> Result<bool> {
        let row = self
            .query_one(
                "SELECT workspace FROM members WHERE workspace = $1 AND user_id = $2",
                params![workspace.as_str(), user.as_str()],
            )
            .await?;
        Ok(row.is_some())
    }

    /// Those who are members now, with their roles.
    pub async fn members(&mut self, workspace: &WorkspaceId) -> Result<Vec<(UserId, Role)>> {
        let rows = self
            .query(
                "SELECT m.user_id, COALESCE(u.file_role, u.role) FROM members m JOIN users u ON u.id = m.user_id
                  WHERE m.workspace = $1 ORDER BY m.user_id",
                params![workspace.as_str()],
            )
            .await?;
        rows.into_iter().map(|mut row| Ok((UserId::from_trusted(row.text()?), Role::from(row.text()?)))).collect()
    }

    /// Every session of a workspace with its uid, for its removal.
    pub async fn sessions_of(&mut self, workspace: &WorkspaceId) -> Result<Vec<(SessionId, String)>> {
        let sql = "SELECT id, uid FROM sessions WHERE workspace = $1 ORDER BY id";
        let rows = self.query(sql, params![workspace.as_str()]).await?;
        rows.into_iter().map(|mut row| Ok((SessionId::from_trusted(row.text()?), row.text()?))).collect()
    }
}
