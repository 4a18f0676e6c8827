//! What people published from their own items.

use crate::rows::{Row, params};
use crate::sums::{self, Sum};
use crate::{Result, Tx};
use domain::ids::{AgentId, ItemId, PublicationId, UserId};
use domain::items::{ItemKey, Source};
use domain::publications::{CopyState, Publication};

/// Reads `id, user_id, agent, source_scope, source_key, source_version, target_agent, target_key, item, item_version,
/// published_at, sum`.
fn read(row: &mut Row) -> Result<Publication> {
    let (id, user) = (PublicationId::from_trusted(row.text()?), UserId::from_trusted(row.text()?));
    let agent = AgentId::from_trusted(row.text()?);
    let (scope, key) = (row.text()?, Some(ItemKey::from_trusted(row.text()?)));
    let source = Source { scope, key, version: row.count()? };
    let publication = Publication {
        id,
        user,
        agent,
        source,
        target_agent: AgentId::from_trusted(row.text()?),
        target_key: ItemKey::from_trusted(row.text()?),
        item: ItemId::from_trusted(row.text()?),
        item_version: row.count()?,
        published_at: row.time()?,
    };
    sums::check(row.optional_integer()?, || sum(&publication), "a publication")?;
    Ok(publication)
}

fn source_key(publication: &Publication) -> &str {
    publication.source.key.as_ref().map_or("", ItemKey::as_str)
}

fn sum(publication: &Publication) -> i64 {
    Sum::default()
        .text(publication.id.as_str())
        .text(publication.user.as_str())
        .text(publication.agent.as_str())
        .text(publication.source.scope.as_str())
        .text(source_key(publication))
        .count(publication.source.version)
        .text(publication.target_agent.as_str())
        .text(publication.target_key.as_str())
        .text(publication.item.as_str())
        .count(publication.item_version)
        .time(publication.published_at)
        .finish()
}

impl Tx {
    pub async fn create_publication(&mut self, publication: &Publication) -> Result<()> {
        self.execute(
            "INSERT INTO publications (id, user_id, agent, source_scope, source_key, source_version, target_agent,
                                       target_key, item, item_version, published_at, sum)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            params![
                publication.id.as_str(),
                publication.user.as_str(),
                publication.agent.as_str(),
                publication.source.scope.as_str(),
                source_key(publication),
                publication.source.version,
                publication.target_agent.as_str(),
                publication.target_key.as_str(),
                publication.item.as_str(),
                publication.item_version,
                publication.published_at,
                sum(publication),
            ],
        )
        .await?;
        Ok(())
    }

    /// A publication of this very user.
    pub async fn publication(&mut self, user: &UserId, id: &PublicationId) -> Result<Option<Publication>> {
        let row = self
            .query_one(
                "SELECT id, user_id, agent, source_scope, source_key, source_version, target_agent, target_key, item,
                        item_version, published_at, sum
                   FROM publications WHERE id = $1 AND user_id = $2",
                params![id.as_str(), user.as_str()],
            )
            .await?;
        row.map(|mut row| read(&mut row)).transpose()
    }

    /// A user's publications after a cursor, newest last, each with what became of the copy.
    pub async fn publications_page(
        &mut self,
        user: &UserId,
        after: &str,
        limit: u64,
    ) -> Result<Vec<(Publication, CopyState)>> {
        let rows = self
            .query(
                "SELECT p.id, p.user_id, p.agent, p.source_scope, p.source_key, p.source_version, p.target_agent,
                        p.target_key, p.item, p.item_version, p.published_at, p.sum, i.version
                   FROM publications p LEFT JOIN workspace_items i ON i.id = p.item
                  WHERE p.user_id = $1 AND p.id > $2 ORDER BY p.id LIMIT $3",
                params![user.as_str(), after, limit],
            )
            .await?;
        let found = rows.into_iter().map(|mut row| {
            let publication = read(&mut row)?;
            let version = row.optional_integer()?.and_then(|version| u64::try_from(version).ok());
            let state = publication.state(version.map(|version| (&publication.item, version)));
            Ok((publication, state))
        });
        found.collect()
    }

    pub async fn remove_publication(&mut self, id: &PublicationId) -> Result<()> {
        self.execute("DELETE FROM publications WHERE id = $1", params![id.as_str()]).await?;
        Ok(())
    }

    pub async fn remove_publications_to(&mut self, agent: &AgentId) -> Result<()> {
        self.execute("DELETE FROM publications WHERE target_agent = $1", params![agent.as_str()]).await?;
        Ok(())
    }

    pub async fn remove_publications_of(&mut self, user: &UserId) -> Result<()> {
        self.execute("DELETE FROM publications WHERE user_id = $1", params![user.as_str()]).await?;
        Ok(())
    }
}
