//! Nodes, and those that want to become one.

use crate::rows::{Param, Row, columns, params};
use crate::sums;
use crate::{Result, Tx};
use domain::ids::{NodeId, ProjectId, UserId, WorkspaceId};
use domain::nodes::{Machine, Node, Serves};
use domain::times::Timestamp;

pub struct Nodes<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) workspace: &'t WorkspaceId,
}

/// A code that somebody may confirm.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairing {
    /// SHA-256 of the code, in hex.
    pub code_hash: String,
    /// What the node says of itself: JSON.
    pub asked: String,
    pub expires_at: Timestamp,
    /// What became of it.
    pub node: Option<(WorkspaceId, NodeId)>,
}

/// A statement that selects what `read` reads.
macro_rules! selected {
    ($rest:literal) => {
        concat!(
            "SELECT workspace, id, name, user_id, project, key_hash, root_label, platform, version, paired_at,
                    last_seen_at, sum
               FROM nodes ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<Node> {
    let (workspace, id) = (WorkspaceId::from_trusted(row.text()?), NodeId::from_trusted(row.text()?));
    let (name, user) = (row.text()?, UserId::from_trusted(row.text()?));
    let serves = row.optional_text()?.map_or(Serves::Members, |id| Serves::Project(ProjectId::from_trusted(id)));
    let key_hash = row.text()?;
    let machine = Machine { root_label: row.text()?, platform: row.text()?, version: row.text()? };
    let (paired_at, last_seen_at) = (row.time()?, row.optional_time()?);
    let node = Node { workspace, id, name, user, serves, key_hash, machine, paired_at, last_seen_at };
    sums::check(row.optional_integer()?, || sum(&node), "a node")?;
    Ok(node)
}

/// When it was last seen is not part of it: that is written all the time.
fn sum(node: &Node) -> i64 {
    sums::of_row(&row(node))
}

/// All columns but the last two, in the order of the table.
fn row(node: &Node) -> [Param<'_>; 10] {
    let project = match &node.serves {
        Serves::Project(project) => Some(project.as_str()),
        Serves::Members => None,
    };
    columns![
        node.workspace.as_str(),
        node.id.as_str(),
        node.name.as_str(),
        node.user.as_str(),
        project,
        node.key_hash.as_str(),
        node.machine.root_label.as_str(),
        node.machine.platform.as_str(),
        node.machine.version.as_str(),
        node.paired_at,
    ]
}

impl Nodes<'_> {
    /// Answers whether its name was free.
    pub async fn create(&mut self, node: &Node) -> Result<bool> {
        let mut all = row(node).to_vec();
        all.extend(columns![node.last_seen_at, sum(node)]);
        let created = self
            .tx
            .execute(
                "INSERT INTO nodes (workspace, id, name, user_id, project, key_hash, root_label, platform, version,
                                    paired_at, last_seen_at, sum, online)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0)
                 ON CONFLICT (workspace, name) DO NOTHING",
                &all,
            )
            .await?;
        Ok(created == 1)
    }

    pub async fn get(&mut self, id: &NodeId) -> Result<Option<Node>> {
        let row = self
            .tx
            .query_one(selected!("WHERE workspace = $1 AND id = $2"), params![self.workspace.as_str(), id.as_str()])
            .await?;
        row.map(read).transpose()
    }

    pub async fn all(&mut self) -> Result<Vec<Node>> {
        let rows =
            self.tx.query(selected!("WHERE workspace = $1 ORDER BY name"), params![self.workspace.as_str()]).await?;
        rows.into_iter().map(read).collect()
    }

    /// Notes that a node was heard of.
    pub async fn seen(&mut self, id: &NodeId, at: Timestamp) -> Result<()> {
        self.tx
            .execute(
                "UPDATE nodes SET last_seen_at = $1 WHERE workspace = $2 AND id = $3",
                params![at, self.workspace.as_str(), id.as_str()],
            )
            .await?;
        Ok(())
    }

    /// Notes whether its members were told that a node is there; answers whether that is news.
    pub async fn put_online(&mut self, id: &NodeId, online: bool) -> Result<bool> {
        let changed = self
            .tx
            .execute(
                "UPDATE nodes SET online = $1 WHERE workspace = $2 AND id = $3 AND online <> $1",
                params![u64::from(online), self.workspace.as_str(), id.as_str()],
            )
            .await?;
        Ok(changed == 1)
    }

    pub async fn delete(&mut self, id: &NodeId) -> Result<bool> {
        let deleted = self
            .tx
            .execute(
                "DELETE FROM nodes WHERE workspace = $1 AND id = $2",
                params![self.workspace.as_str(), id.as_str()],
            )
            .await?;
        Ok(deleted == 1)
    }
}

/// The house's own view: a node that signs in says only its id, and one that pairs is nowhere yet.
impl Tx {
    pub async fn node(&mut self, id: &NodeId) -> Result<Option<Node>> {
        let row = self.query_one(selected!("WHERE id = $1"), params![id.as_str()]).await?;
        row.map(read).transpose()
    }

    /// The nodes that somebody paired.
    pub async fn nodes_of(&mut self, user: &UserId) -> Result<Vec<Node>> {
        let rows = self.query(selected!("WHERE user_id = $1 ORDER BY workspace, id"), params![user.as_str()]).await?;
        rows.into_iter().map(read).collect()
    }

    /// Nodes that were said to be there and were not heard of since then.
    pub async fn nodes_gone_since(&mut self, before: Timestamp, limit: u64) -> Result<Vec<Node>> {
        let rows = self
            .query(
                selected!("WHERE online = 1 AND last_seen_at < $1 ORDER BY last_seen_at LIMIT $2"),
                params![before, limit],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    /// The nodes that serve the members of a workspace, of all workspaces.
    pub async fn nodes_of_members(&mut self) -> Result<Vec<Node>> {
        let rows = self.query(selected!("WHERE project IS NULL ORDER BY workspace, name"), params![]).await?;
        rows.into_iter().map(read).collect()
    }

    /// The nodes of all workspaces that somebody is a member of.
    pub async fn nodes_seen_by(&mut self, user: &UserId) -> Result<Vec<Node>> {
        let rows = self
            .query(
                selected!(
                    "WHERE workspace IN (SELECT workspace FROM members WHERE user_id = $1)
                  ORDER BY workspace, name"
                ),
                params![user.as_str()],
            )
            .await?;
        rows.into_iter().map(read).collect()
    }

    pub async fn create_pairing(&mut self, pairing: &Pairing) -> Result<()> {
        self.execute(
            "INSERT INTO pairings (code_hash, asked, expires_at) VALUES ($1, $2, $3)",
            params![pairing.code_hash.as_str(), pairing.asked.as_str(), pairing.expires_at],
        )
        .await?;
        Ok(())
    }

    pub async fn pairing(&mut self, code_hash: &str) -> Result<Option<Pairing>> {
        let row = self
            .query_one(
                "SELECT code_hash, asked, expires_at, workspace, node FROM pairings WHERE code_hash = $1",
                params![code_hash],
            )
            .await?;
        let read = |mut row: Row| {
            let (code_hash, asked, expires_at) = (row.text()?, row.text()?, row.time()?);
            let workspace = row.optional_text()?.map(WorkspaceId::from_trusted);
            let node = workspace.zip(row.optional_text()?.map(NodeId::from_trusted));
            Ok(Pairing { code_hash, asked, expires_at, node })
        };
        row.map(read).transpose()
    }

    /// Notes what became of a code; answers whether nobody was faster.
    pub async fn confirm_pairing(&mut self, code_hash: &str, workspace: &WorkspaceId, node: &NodeId) -> Result<bool> {
        let confirmed = self
            .execute(
                "UPDATE pairings SET workspace = $1, node = $2 WHERE code_hash = $3 AND node IS NULL",
                params![workspace.as_str(), node.as_str(), code_hash],
            )
            .await?;
        Ok(confirmed == 1)
    }

    /// How many codes wait for somebody.
    pub async fn open_pairings(&mut self, now: Timestamp) -> Result<u64> {
        let row = self.query_one("SELECT COUNT(*) FROM pairings WHERE expires_at > $1", params![now]).await?;
        row.map_or(Ok(0), |mut row| row.count())
    }

    pub async fn forget_pairings(&mut self, now: Timestamp) -> Result<u64> {
        self.execute("DELETE FROM pairings WHERE expires_at <= $1", params![now]).await
    }
}
