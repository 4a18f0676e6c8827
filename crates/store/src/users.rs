//! People, and which workspaces they belong to. House rows: no workspace owns them.

use crate::rows::{Row, params};
use crate::{Error, Result, Tx};
use domain::ids::{UserId, WorkspaceId};
use domain::roles::Role;
use domain::times::Timestamp;
use domain::users::{Membership, User};

fn read(mut row: Row) -> Result<User> {
    Ok(User {
        id: UserId::from_trusted(row.text()?),
        role: Role::parse(&row.text()?).map_err(|_| Error::BadRow("a role".into()))?,
        created_at: row.time()?,
    })
}

impl Tx {
    pub async fn user(&mut self, id: &UserId) -> Result<Option<User>> {
        let row = self
            .query_one(
                "SELECT id, role, created_at FROM users WHERE id = $1 AND removed_at IS NULL",
                params![id.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    pub async fn users_page(&mut self, after: &str, limit: u64) -> Result<Vec<User>> {
        let rows = self
            .query(
                "SELECT id, role, created_at FROM users WHERE removed_at IS NULL AND id > $1 ORDER BY id LIMIT $2",
                params![after, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Makes the user with a personal workspace. Answers whether the name was free, now and before.
    pub async fn create_user(&mut self, user: &User) -> Result<bool> {
        let created = self
            .execute(
                "INSERT INTO users (id, role, created_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
                params![user.id.as_str(), user.role.as_str(), user.created_at],
            )
            .await?;
        if created == 0 {
            return Ok(false);
        }
        let workspace = WorkspaceId::personal(&user.id);
        self.execute(
            "INSERT INTO workspaces (id, personal_of, created_at) VALUES ($1, $2, $3)",
            params![workspace.as_str(), user.id.as_str(), user.created_at],
        )
        .await?;
        self.execute(
            "INSERT INTO members (workspace, user_id) VALUES ($1, $2)",
            params![workspace.as_str(), user.id.as_str()],
        )
        .await?;
        Ok(true)
    }

    pub async fn set_role(&mut self, id: &UserId, role: &Role) -> Result<()> {
        self.execute("UPDATE users SET role = $1 WHERE id = $2", params![role.as_str(), id.as_str()]).await?;
        Ok(())
    }

    /// Whether somebody other than `id` is an admin.
    pub async fn has_other_admin(&mut self, id: &UserId) -> Result<bool> {
        let row = self
            .query_one(
                "SELECT id FROM users WHERE role = 'admin' AND removed_at IS NULL AND id <> $1 LIMIT 1",
                params![id.as_str()],
            )
            .await?;
        Ok(row.is_some())
    }

    /// Takes the user out of the house: memberships, tokens and codes end; the row stays so the name stays taken.
    pub async fn remove_user(&mut self, id: &UserId, at: Timestamp) -> Result<()> {
        self.execute("UPDATE users SET removed_at = $1 WHERE id = $2", params![at, id.as_str()]).await?;
        self.execute(
            "UPDATE tokens SET revoked_at = $1 WHERE user_id = $2 AND revoked_at IS NULL",
            params![at, id.as_str()],
        )
        .await?;
        self.execute(
            "UPDATE sign_in_codes SET used_at = $1 WHERE user_id = $2 AND used_at IS NULL",
            params![at, id.as_str()],
        )
        .await?;
        self.execute("DELETE FROM members WHERE user_id = $1", params![id.as_str()]).await?;
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

    /// Makes a workspace that is nobody's own. Answers whether the name was free.
    pub async fn create_workspace(&mut self, id: &WorkspaceId, at: Timestamp) -> Result<bool> {
        let created = self
            .execute(
                "INSERT INTO workspaces (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
                params![id.as_str(), at],
            )
            .await?;
        Ok(created == 1)
    }

    /// Answers whether they were no member before.
    pub async fn add_member(&mut self, workspace: &WorkspaceId, user: &UserId) -> Result<bool> {
        let added = self
            .execute(
                "INSERT INTO members (workspace, user_id) VALUES ($1, $2) ON CONFLICT (workspace, user_id) DO NOTHING",
                params![workspace.as_str(), user.as_str()],
            )
            .await?;
        Ok(added == 1)
    }

    /// Answers whether they were a member until now.
    pub async fn remove_member(&mut self, workspace: &WorkspaceId, user: &UserId) -> Result<bool> {
        let removed = self
            .execute(
                "DELETE FROM members WHERE workspace = $1 AND user_id = $2",
                params![workspace.as_str(), user.as_str()],
            )
            .await?;
        Ok(removed == 1)
    }

    /// Every session of a workspace, for its removal.
    pub async fn sessions_of(&mut self, workspace: &WorkspaceId) -> Result<Vec<domain::ids::SessionId>> {
        let rows =
            self.query("SELECT id FROM sessions WHERE workspace = $1 ORDER BY id", params![workspace.as_str()]).await?;
        rows.into_iter().map(|mut row| row.text().map(domain::ids::SessionId::from_trusted)).collect()
    }
}
