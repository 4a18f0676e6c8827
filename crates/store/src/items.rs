//! The items of one scope. A scope comes from an agent and its person, so there is no way to ask for another's.

use crate::rows::{Param, Row, from_json, params, to_json};
use crate::sums::{self, Sum};
use crate::{Result, Tx};
use domain::ids::{AgentId, ItemId, UserId};
use domain::items::{Item, ItemKey, ItemScope, ItemSummary, ScopeCounters};

pub struct Items<'t> {
    tx: &'t mut Tx,
    scope: &'t ItemScope,
}

impl Tx {
    pub fn items<'t>(&'t mut self, scope: &'t ItemScope) -> Items<'t> {
        Items { tx: self, scope }
    }

    /// Whether any item anywhere was created by this agent.
    pub async fn has_created_items(&mut self, agent: &AgentId) -> Result<bool> {
        let sql = "SELECT id FROM workspace_items WHERE created_by = $1 LIMIT 1";
        Ok(self.query_one(sql, params![agent.as_str()]).await?.is_some())
    }
}

/// An item as its row has it.
struct Stored {
    summary: ItemSummary,
    published_from: Option<String>,
    value_sum: Option<i64>,
}

fn sum(scope: &ItemScope, stored: &Stored) -> i64 {
    let ItemSummary { item, preview, size_bytes } = &stored.summary;
    Sum::default()
        .text(scope.as_str())
        .text(item.id.as_str())
        .text(item.key.as_str())
        .integer(stored.value_sum)
        .text(item.created_by.as_str())
        .time(item.created_at)
        .text(item.updated_by.as_str())
        .time(item.updated_at)
        .text(item.on_behalf_of.as_str())
        .count(item.version)
        .count(item.seq)
        .text(stored.published_from.as_deref())
        .text(preview.as_str())
        .count(*size_bytes)
        .finish()
}

/// Reads `id, key, value, created_by, created_at, updated_by, updated_at, on_behalf_of, version, seq, published_from,
/// preview, size_bytes, value_sum, sum`. The value may have been left out of the row.
fn read(mut row: Row, scope: &ItemScope) -> Result<ItemSummary> {
    let (id, key) = (ItemId::from_trusted(row.text()?), ItemKey::from_trusted(row.text()?));
    let value = row.optional_text()?;
    let (created_by, created_at) = (AgentId::from_trusted(row.text()?), row.time()?);
    let (updated_by, updated_at) = (AgentId::from_trusted(row.text()?), row.time()?);
    let on_behalf_of = UserId::from_trusted(row.text()?);
    let (version, seq) = (row.count()?, row.count()?);
    let source = row.optional_text()?;
    let published_from = source.as_deref().map(from_json).transpose()?;
    let (preview, size_bytes) = (row.text()?, row.count()?);
    let (value_sum, stored_sum) = (row.optional_integer()?, row.optional_integer()?);
    if let Some(value) = &value {
        sums::check(value_sum, || sums::of_value(value), "an item's value")?;
    }
    let value = value.unwrap_or_default();
    let item = Item {
        id,
        key,
        value,
        created_by,
        created_at,
        updated_by,
        updated_at,
        on_behalf_of,
        version,
        seq,
        published_from,
    };
    let stored = Stored { summary: ItemSummary { item, preview, size_bytes }, published_from: source, value_sum };
    sums::check(stored_sum, || sum(scope, &stored), "an item")?;
    Ok(stored.summary)
}

impl Items<'_> {
    async fn select(&mut self, sql: &'static str, extra: &[Param<'_>]) -> Result<Vec<ItemSummary>> {
        let mut all = vec![Param::from(self.scope.as_str())];
        all.extend_from_slice(extra);
        self.tx.query(sql, &all).await?.into_iter().map(|row| read(row, self.scope)).collect()
    }

    pub async fn get(&mut self, key: &ItemKey) -> Result<Option<Item>> {
        let found = self
            .select(
                "SELECT id, key, value, created_by, created_at, updated_by, updated_at, on_behalf_of, version, seq,
                        published_from, preview, size_bytes, value_sum, sum
                   FROM workspace_items WHERE workspace_id = $1 AND key = $2",
                params![key.as_str()],
            )
            .await?;
        Ok(found.into_iter().next().map(|summary| summary.item))
    }

    /// The newest items without their values, newest first.
    pub async fn newest(&mut self, limit: u64) -> Result<Vec<ItemSummary>> {
        self.select(
            "SELECT id, key, NULL, created_by, created_at, updated_by, updated_at, on_behalf_of, version, seq,
                    published_from, preview, size_bytes, value_sum, sum
               FROM workspace_items WHERE workspace_id = $1 ORDER BY seq DESC LIMIT $2",
            params![limit],
        )
        .await
    }

    pub async fn put(&mut self, item: &Item) -> Result<()> {
        let summary = ItemSummary { preview: item.preview(), size_bytes: item.size_bytes(), item: item.clone() };
        let published_from = item.published_from.as_ref().map(to_json).transpose()?;
        let stored = Stored { summary, published_from, value_sum: Some(sums::of_value(&item.value)) };
        self.tx
            .execute(
                "INSERT INTO workspace_items (id, workspace_id, key, value, created_by, created_at, updated_at, version,
                                              updated_by, on_behalf_of, published_from, preview, size_bytes, seq,
                                              value_sum, sum)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
                 ON CONFLICT (workspace_id, key) DO UPDATE SET
                   value = excluded.value, updated_at = excluded.updated_at, version = excluded.version,
                   updated_by = excluded.updated_by, on_behalf_of = excluded.on_behalf_of,
                   published_from = excluded.published_from, preview = excluded.preview,
                   size_bytes = excluded.size_bytes, seq = excluded.seq, value_sum = excluded.value_sum,
                   sum = excluded.sum",
                params![
                    item.id.as_str(),
                    self.scope.as_str(),
                    item.key.as_str(),
                    item.value.as_str(),
                    item.created_by.as_str(),
                    item.created_at,
                    item.updated_at,
                    item.version,
                    item.updated_by.as_str(),
                    item.on_behalf_of.as_str(),
                    stored.published_from.as_deref(),
                    stored.summary.preview.as_str(),
                    stored.summary.size_bytes,
                    item.seq,
                    stored.value_sum,
                    sum(self.scope, &stored),
                ],
            )
            .await?;
        Ok(())
    }

    pub async fn remove(&mut self, key: &ItemKey) -> Result<()> {
        let sql = "DELETE FROM workspace_items WHERE workspace_id = $1 AND key = $2";
        self.tx.execute(sql, params![self.scope.as_str(), key.as_str()]).await?;
        Ok(())
    }

    pub async fn counters(&mut self) -> Result<ScopeCounters> {
        let sql = "SELECT seq, items FROM item_scopes WHERE scope = $1";
        let row = self.tx.query_one(sql, params![self.scope.as_str()]).await?;
        row.map_or(Ok(ScopeCounters::default()), |mut row| Ok(ScopeCounters { seq: row.count()?, items: row.count()? }))
    }

    pub async fn save_counters(&mut self, counters: ScopeCounters) -> Result<()> {
        self.tx
            .execute(
                "INSERT INTO item_scopes (scope, seq, items) VALUES ($1, $2, $3)
                 ON CONFLICT (scope) DO UPDATE SET seq = excluded.seq, items = excluded.items",
                params![self.scope.as_str(), counters.seq, counters.items],
            )
            .await?;
        Ok(())
    }

    /// Removes everything of a scope whose owner goes.
    pub async fn remove_all(&mut self) -> Result<()> {
        for sql in ["DELETE FROM workspace_items WHERE workspace_id = $1", "DELETE FROM item_scopes WHERE scope = $1"] {
            self.tx.execute(sql, params![self.scope.as_str()]).await?;
        }
        Ok(())
    }
}
