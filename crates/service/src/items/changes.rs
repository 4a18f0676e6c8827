//! Changes of items. Value, numbers, event and audit row are one transaction.

use super::{Acting, AtWork};
use crate::{Error, Result};
use domain::Refusal;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::events::{Event, EventKind, ItemChange};
use domain::ids::{ItemId, ProjectId, PublicationId};
use domain::item_requests::{DeletedItem, ItemAnswer, ItemRequest};
use domain::items::{Item, ItemKey, ItemScope, NewValue, Stamp};
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, Tx};

pub(super) struct Change {
    pub(super) caller: Arc<Caller>,
    pub(super) acting: Acting,
    pub(super) tool: &'static str,
    pub(super) request: ItemRequest,
    pub(super) now: Timestamp,
    /// The ids of what may be made.
    pub(super) item: ItemId,
    pub(super) publication: PublicationId,
}

impl Operation for Change {
    type Output = ItemAnswer;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<ItemAnswer> {
        let at_work = self.acting.resolve(tx, &self.caller, self.tool).await?;
        match &self.request {
            ItemRequest::Write { key, value, if_version } => self.write(tx, &at_work, key, value, *if_version).await,
            ItemRequest::Delete { key } => self.delete(tx, &at_work, key).await,
            ItemRequest::Publish(request) => self.publish(tx, &at_work, request).await,
            ItemRequest::List | ItemRequest::Read { .. } => {
                Err(store::Error::BadOperation("a look at items changes nothing").into())
            }
        }
    }
}

impl Change {
    pub(super) fn stamp(&self, at_work: &AtWork) -> Stamp {
        Stamp { agent: at_work.agent.id.clone(), user: self.caller.user.clone(), at: self.now }
    }

    async fn write(
        &self,
        tx: &mut Tx,
        at_work: &AtWork,
        key: &ItemKey,
        value: &str,
        if_version: Option<u64>,
    ) -> Result<ItemAnswer> {
        let before = tx.items(&at_work.scope).get(key).await?;
        Item::check_version(before.as_ref(), if_version)?;
        let new = NewValue {
            id: self.item.clone(),
            key: key.clone(),
            value: value.to_owned(),
            published_from: before.as_ref().and_then(|item| item.published_from.clone()),
        };
        let told = Told { kind: EventKind::ItemWritten, scope: &at_work.scope, project: &at_work.agent.project };
        let item = told.put(tx, before.as_ref(), new, &self.stamp(at_work)).await?;
        self.record(tx, "item.write", &at_work.scope, &item);
        Ok(ItemAnswer::Written((&item).into()))
    }

    async fn delete(&self, tx: &mut Tx, at_work: &AtWork, key: &ItemKey) -> Result<ItemAnswer> {
        let item = tx.items(&at_work.scope).get(key).await?.ok_or_else(Refusal::item_not_found)?;
        let told = Told { kind: EventKind::ItemDeleted, scope: &at_work.scope, project: &at_work.agent.project };
        told.remove(tx, &item, &self.stamp(at_work)).await?;
        self.record(tx, "item.delete", &at_work.scope, &item);
        Ok(ItemAnswer::Deleted(DeletedItem { deleted: item.key, previous_version: item.version }))
    }

    fn record(&self, tx: &mut Tx, action: &'static str, scope: &ItemScope, item: &Item) {
        let record = about(&self.caller, action, self.now, scope, item);
        tx.scope(scope.workspace()).audit().append(record);
    }
}

/// What is written down of a change: names and numbers, never a value.
pub(super) fn about(
    caller: &Caller,
    action: &'static str,
    at: Timestamp,
    scope: &ItemScope,
    item: &Item,
) -> AuditRecord {
    AuditRecord::new(caller, action, at)
        .with("scope", scope.as_str())
        .with("key", item.key.as_str())
        .with("version", item.version)
        .with("size_bytes", item.size_bytes())
        .with("agent", item.updated_by.as_str())
}

/// How a change of a scope is told.
pub(super) struct Told<'a> {
    pub(super) kind: EventKind,
    pub(super) scope: &'a ItemScope,
    /// The project of the agent that acts, or whose scope it is.
    pub(super) project: &'a ProjectId,
}

impl Told<'_> {
    pub(super) async fn put(&self, tx: &mut Tx, before: Option<&Item>, new: NewValue, stamp: &Stamp) -> Result<Item> {
        let mut counters = tx.items(self.scope).counters().await?;
        let item = Item::put(before, new, &mut counters, stamp)?;
        tx.items(self.scope).put(&item).await?;
        tx.items(self.scope).save_counters(counters).await?;
        self.tell(tx, counters.seq, &item, item.size_bytes(), stamp);
        Ok(item)
    }

    pub(super) async fn remove(&self, tx: &mut Tx, item: &Item, stamp: &Stamp) -> Result<()> {
        let mut counters = tx.items(self.scope).counters().await?;
        counters.seq += 1;
        counters.items = counters.items.saturating_sub(1);
        tx.items(self.scope).remove(&item.key).await?;
        tx.items(self.scope).save_counters(counters).await?;
        self.tell(tx, counters.seq, item, 0, stamp);
        Ok(())
    }

    fn tell(&self, tx: &mut Tx, number: u64, item: &Item, size_bytes: u64, stamp: &Stamp) {
        let change = ItemChange {
            key: &item.key,
            version: item.version,
            size_bytes,
            agent: &stamp.agent,
            user: &stamp.user,
            project: Some(self.project),
            at: stamp.at,
        };
        let event = Event::item(self.kind, self.scope, &change);
        tx.scope(self.scope.workspace()).events().append_item(self.scope, number, &event);
    }
}
