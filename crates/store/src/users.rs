//! People. House rows: no workspace owns them. Somebody is there while the file or an admin says so.

use crate::rows::{Row, params};
use crate::{Error, Result, Tx};
use domain::ids::{UserId, WorkspaceId};
use domain::roles::Role;
use domain::times::Timestamp;
use domain::users::{Person, User};
use domain::workspaces::Source;

fn read(mut row: Row) -> Result<User> {
    Ok(User {
        id: UserId::from_trusted(row.text()?),
        role: Role::parse(&row.text()?).map_err(|_| Error::BadRow("a role".into()))?,
        created_at: row.time()?,
    })
}

/// What the house knows of a name.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownUser {
    pub id: UserId,
    /// The role that the file gives.
    pub file_role: Option<Role>,
    /// Whether an admin added them.
    pub by_admin: bool,
    /// Removed for good: the name is never given again.
    pub removed: bool,
}

/// Reads whether the file names them, `by_admin`, and then what `read` does.
fn read_person(mut row: Row) -> Result<Person> {
    let said = [(row.integer()? == 1, Source::File), (row.integer()? == 1, Source::Admin)];
    let sources = said.into_iter().filter_map(|(says, source)| says.then_some(source)).collect();
    Ok(Person { user: read(row)?, sources })
}

/// Reads `id, file_role, by_admin, removed_at`.
fn read_known(mut row: Row) -> Result<KnownUser> {
    Ok(KnownUser {
        id: UserId::from_trusted(row.text()?),
        file_role: row.optional_text()?.map(Role::from),
        by_admin: row.integer()? == 1,
        removed: row.optional_time()?.is_some(),
    })
}

impl Tx {
    pub async fn user(&mut self, id: &UserId) -> Result<Option<User>> {
        let row = self
            .query_one(
                "SELECT id, COALESCE(file_role, role), created_at FROM users
                  WHERE id = $1 AND removed_at IS NULL AND (by_admin = 1 OR file_role IS NOT NULL)",
                params![id.as_str()],
            )
            .await?;
        row.map(read).transpose()
    }

    pub async fn users_page(&mut self, after: &str, limit: u64) -> Result<Vec<Person>> {
        let rows = self
            .query(
                "SELECT CAST(CASE WHEN file_role IS NULL THEN 0 ELSE 1 END AS BIGINT), by_admin, id,
                        COALESCE(file_role, role), created_at FROM users
                  WHERE removed_at IS NULL AND (by_admin = 1 OR file_role IS NOT NULL) AND id > $1
                  ORDER BY id LIMIT $2",
                params![after, limit],
            )
            .await?;
        rows.into_iter().map(read_person).collect()
    }

    /// What is known of a name, also of somebody who is out or was removed.
    pub async fn known_user(&mut self, id: &UserId) -> Result<Option<KnownUser>> {
        let row = self
            .query_one("SELECT id, file_role, by_admin, removed_at FROM users WHERE id = $1", params![id.as_str()])
            .await?;
        row.map(read_known).transpose()
    }

    pub async fn users_of_file(&mut self) -> Result<Vec<KnownUser>> {
        let rows = self
            .query(
                "SELECT id, file_role, by_admin, removed_at FROM users WHERE file_role IS NOT NULL ORDER BY id",
                params![],
            )
            .await?;
        rows.into_iter().map(read_known).collect()
    }

    /// Makes the user with a personal workspace, or lets one in again who is out. Answers whether the name was free to
    /// be given so.
    pub async fn create_user(&mut self, user: &User) -> Result<bool> {
        let returned = self
            .execute(
                "UPDATE users SET by_admin = 1, role = $1
                  WHERE id = $2 AND removed_at IS NULL AND by_admin = 0 AND file_role IS NULL",
                params![user.role.as_str(), user.id.as_str()],
            )
            .await?;
        if returned == 1 {
            self.settle_members(None, Some(&user.id)).await?;
            return Ok(true);
        }
        self.insert_user(user, Source::Admin).await
    }

    /// Lets the file name a user, who is made if need be.
    pub async fn declare_user(&mut self, user: &User) -> Result<()> {
        self.insert_user(user, Source::File).await?;
        self.set_file_role(&user.id, Some(&user.role)).await
    }

    async fn insert_user(&mut self, user: &User, source: Source) -> Result<bool> {
        let created = self
            .execute(
                "INSERT INTO users (id, role, created_at, by_admin) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (id) DO NOTHING",
                params![user.id.as_str(), user.role.as_str(), user.created_at, i64::from(source == Source::Admin)],
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
        self.grant_member(&workspace, &user.id, Source::Admin).await?;
        self.settle_members(Some(&workspace), None).await?;
        Ok(true)
    }

    /// What the file says of somebody's role; nothing, if it does not name them any more.
    pub async fn set_file_role(&mut self, id: &UserId, role: Option<&Role>) -> Result<()> {
        self.execute("UPDATE users SET file_role = $1 WHERE id = $2", params![role.map(Role::as_str), id.as_str()])
            .await?;
        Ok(())
    }

    pub async fn set_role(&mut self, id: &UserId, role: &Role) -> Result<()> {
        self.execute("UPDATE users SET role = $1 WHERE id = $2", params![role.as_str(), id.as_str()]).await?;
        Ok(())
    }

    /// Whether somebody is an admin, other than `id`.
    pub async fn has_other_admin(&mut self, id: Option<&UserId>) -> Result<bool> {
        let row = self
            .query_one(
                "SELECT id FROM users
                  WHERE COALESCE(file_role, role) = 'admin' AND removed_at IS NULL
                    AND (by_admin = 1 OR file_role IS NOT NULL) AND id <> $1 LIMIT 1",
                params![id.map_or("", UserId::as_str)],
            )
            .await?;
        Ok(row.is_some())
    }

    /// Ends somebody's tokens, browsers and unused links.
    pub async fn end_credentials_of(&mut self, id: &UserId, at: Timestamp) -> Result<()> {
        let ends = [
            "UPDATE tokens SET revoked_at = $1 WHERE user_id = $2 AND revoked_at IS NULL",
            "UPDATE sign_in_codes SET used_at = $1 WHERE user_id = $2 AND used_at IS NULL",
        ];
        for sql in ends {
            self.execute(sql, params![at, id.as_str()]).await?;
        }
        Ok(())
    }

    /// Takes the user out of the house: memberships, tokens and codes end; the row stays so the name stays taken.
    pub async fn remove_user(&mut self, id: &UserId, at: Timestamp) -> Result<()> {
        self.execute("UPDATE users SET removed_at = $1, file_role = NULL WHERE id = $2", params![at, id.as_str()])
            .await?;
        self.end_credentials_of(id, at).await?;
        let deletions = [
            "DELETE FROM member_grants WHERE user_id = $1",
            "DELETE FROM members WHERE user_id = $1",
            "DELETE FROM identities WHERE user_id = $1",
            "DELETE FROM deliveries WHERE user_id = $1",
            // What they were told is still to be concluded: buttons that lead nowhere do not stay.
            "DELETE FROM notices WHERE user_id = $1 AND (told IS NULL OR ended_at IS NOT NULL)",
            "DELETE FROM heard_messages WHERE user_id = $1",
        ];
        for sql in deletions {
            self.execute(sql, params![id.as_str()]).await?;
        }
        Ok(())
    }
}
