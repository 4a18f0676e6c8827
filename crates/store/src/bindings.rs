//! Which place of a channel belongs to which workspace, and which account of a channel is whose.

use crate::rows::{Row, from_json, params, to_json};
use crate::workspaces::source;
use crate::{Result, Tx};
use domain::ids::{UserId, WorkspaceId};
use domain::workspaces::{Binding, ChannelPlace, Identity, Source};

/// A binding, whose it is, and who said so.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundPlace {
    pub workspace: WorkspaceId,
    pub binding: Binding,
    pub source: Source,
}

/// An account of a channel, whose it is, and who said so.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownIdentity {
    pub identity: Identity,
    pub user: UserId,
    pub source: Source,
}

/// Reads `workspace, source, binding`.
fn read(mut row: Row) -> Result<BoundPlace> {
    let (workspace, by) = (WorkspaceId::from_trusted(row.text()?), source(&row.text()?)?);
    Ok(BoundPlace { workspace, source: by, binding: from_json(&row.text()?)? })
}

/// Reads `channel, id, user_id, source`.
fn read_identity(mut row: Row) -> Result<KnownIdentity> {
    let identity = Identity { channel: row.text()?, id: row.text()? };
    Ok(KnownIdentity { identity, user: UserId::from_trusted(row.text()?), source: source(&row.text()?)? })
}

impl Tx {
    pub async fn bound_place(&mut self, place: &ChannelPlace) -> Result<Option<BoundPlace>> {
        let row = self
            .query_one("SELECT workspace, source, binding FROM bindings WHERE place = $1", params![&*place.as_key()])
            .await?;
        row.map(read).transpose()
    }

    /// The bindings of one workspace, or of all.
    pub async fn bindings(&mut self, workspace: Option<&WorkspaceId>) -> Result<Vec<BoundPlace>> {
        let rows = self
            .query(
                "SELECT workspace, source, binding FROM bindings
                  WHERE CAST($1 AS TEXT) IS NULL OR workspace = $1 ORDER BY workspace, place",
                params![workspace.map(WorkspaceId::as_str)],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// Binds a place, or binds it anew.
    pub async fn bind(&mut self, bound: &BoundPlace) -> Result<()> {
        let (place, binding) = (bound.binding.place.as_key(), to_json(&bound.binding)?);
        self.execute(
            "INSERT INTO bindings (place, workspace, source, binding) VALUES ($1, $2, $3, $4)
             ON CONFLICT (place) DO UPDATE SET workspace = $2, source = $3, binding = $4",
            params![&*place, bound.workspace.as_str(), bound.source.as_str(), &*binding],
        )
        .await?;
        Ok(())
    }

    pub async fn unbind(&mut self, place: &ChannelPlace) -> Result<()> {
        self.execute("DELETE FROM bindings WHERE place = $1", params![&*place.as_key()]).await?;
        Ok(())
    }

    /// Whose account this is; what the file says goes before what an admin says.
    pub async fn user_of(&mut self, identity: &Identity) -> Result<Option<UserId>> {
        let row = self
            .query_one(
                "SELECT user_id FROM identities WHERE channel = $1 AND id = $2
                  ORDER BY CASE source WHEN 'file' THEN 0 ELSE 1 END LIMIT 1",
                params![&*identity.channel, &*identity.id],
            )
            .await?;
        row.map(|mut row| row.text().map(UserId::from_trusted)).transpose()
    }

    /// Every account that is somebody's; of one person, or of all.
    pub async fn identities(&mut self, user: Option<&UserId>) -> Result<Vec<KnownIdentity>> {
        let rows = self
            .query(
                "SELECT channel, id, user_id, source FROM identities
                  WHERE CAST($1 AS TEXT) IS NULL OR user_id = $1 ORDER BY channel, id, source",
                params![user.map(UserId::as_str)],
            )
            .await?;
        rows.into_iter().map(read_identity).collect()
    }

    pub async fn add_identity(&mut self, known: &KnownIdentity) -> Result<()> {
        let KnownIdentity { identity, user, source } = known;
        self.execute(
            "INSERT INTO identities (channel, id, source, user_id) VALUES ($1, $2, $3, $4)
             ON CONFLICT (channel, id, source) DO UPDATE SET user_id = $4",
            params![&*identity.channel, &*identity.id, source.as_str(), user.as_str()],
        )
        .await?;
        Ok(())
    }

    pub async fn remove_identity(&mut self, identity: &Identity, by: Source) -> Result<()> {
        self.execute(
            "DELETE FROM identities WHERE channel = $1 AND id = $2 AND source = $3",
            params![&*identity.channel, &*identity.id, by.as_str()],
        )
        .await?;
        Ok(())
    }
}
