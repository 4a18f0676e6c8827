//! Publishing: a one-way copy from a person's own items to a shared agent, and taking it back while nobody touched it.

use super::AtWork;
use super::changes::{Change, Told, about};
use crate::paging::{Listed, Page};
use crate::{Ctx, Error, Result};
use domain::callers::Caller;
use domain::events::EventKind;
use domain::ids::{AgentId, PublicationId, UserId, WorkspaceId};
use domain::item_requests::{ItemAnswer, PublishRequest, PublishedItem};
use domain::items::{NewValue, Source, Stamp};
use domain::publications::{CopyState, Publication};
use domain::times::Timestamp;
use domain::{Code, Refusal, policy};
use std::sync::Arc;
use store::{Operation, Tx};

impl Change {
    /// The checks come in this order so that a shared agent learns nothing, and nobody learns of an agent they cannot see.
    pub(super) async fn publish(&self, tx: &mut Tx, at_work: &AtWork, request: &PublishRequest) -> Result<ItemAnswer> {
        policy::may_publish_from(&at_work.agent)?;
        let target = AgentId::parse(&request.target_agent)?;
        let target = tx.agent_seen_by(&self.caller.user, &target).await?.ok_or_else(Refusal::agent_id_not_found)?;
        policy::may_publish_to(&target)?;
        let source = tx.items(&at_work.scope).get(&request.key).await?.ok_or_else(Refusal::item_not_found)?;
        let scope = target.item_scope(&self.caller.user);
        let before = tx.items(&scope).get(&request.target_key).await?;
        if let Some(found) = &before {
            if !request.overwrite {
                let message = "the target has an item under that key: say `overwrite`, or another `target_key`";
                return Err(Refusal::new(Code::ItemExists, message).into());
            }
            let is_member = tx.is_member(&self.caller.user, &target.workspace).await?;
            policy::may_overwrite(found, &at_work.scope, is_member)?;
        }
        let origin =
            Source { scope: at_work.scope.as_str().to_owned(), key: Some(source.key), version: source.version };
        let new = NewValue {
            id: self.item.clone(),
            key: request.target_key.clone(),
            value: source.value,
            published_from: Some(origin.clone()),
        };
        let told = Told { kind: EventKind::ItemPublished, scope: &scope, project: &target.project };
        let copy = told.put(tx, before.as_ref(), new, &self.stamp(at_work)).await?;
        let publication = Publication {
            id: self.publication.clone(),
            user: self.caller.user.clone(),
            agent: at_work.agent.id.clone(),
            source: origin,
            target_agent: target.id,
            target_key: copy.key.clone(),
            item: copy.id.clone(),
            item_version: copy.version,
            published_at: self.now,
        };
        tx.create_publication(&publication).await?;
        let record = about(&self.caller, "item.publish", self.now, &scope, &copy);
        tx.scope(scope.workspace()).audit().append(record);
        record_own(tx, &self.caller, "item.publish", &publication, self.now);
        Ok(ItemAnswer::Published(PublishedItem {
            publication_id: publication.id,
            key: request.key.clone(),
            target_agent_id: publication.target_agent,
            target_key: copy.key,
            version: copy.version,
            overwritten: before.is_some(),
        }))
    }
}

/// What the publisher's own chain keeps, the source's key included.
fn record_own(tx: &mut Tx, caller: &Caller, action: &'static str, publication: &Publication, at: Timestamp) {
    let record = domain::audit::AuditRecord::new(caller, action, at)
        .with("publication", publication.id.as_str())
        .with("scope", publication.source.scope.as_str())
        .with("key", publication.source.key.as_ref().map_or("", |key| key.as_str()))
        .with("target_agent", publication.target_agent.as_str())
        .with("target_key", publication.target_key.as_str());
    tx.scope(&WorkspaceId::personal(&publication.user)).audit().append(record);
}

/// A publication and what became of the copy.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    pub publication: Publication,
    pub state: CopyState,
}

/// What the caller has published, oldest first.
pub async fn list_publications(ctx: &Ctx, page: Page) -> Result<Listed<Published>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let items = ctx.house.store().read(List { user: ctx.caller.user.clone(), after, limit: limit + 1 }).await?;
    Ok(Listed::cut(items, limit, |published| vec![published.publication.id.as_str().to_owned()]))
}

struct List {
    user: UserId,
    after: String,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Published>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Published>> {
        let found = tx.publications_page(&self.user, &self.after, self.limit).await?;
        Ok(found.into_iter().map(|(publication, state)| Published { publication, state }).collect())
    }
}

/// Removes a copy that nobody has changed since it was published.
pub async fn recall(ctx: &Ctx, id: PublicationId) -> Result<()> {
    ctx.caller.require_person()?;
    let turn = WorkspaceId::personal(&ctx.caller.user);
    ctx.house.store().write(&turn, Recall { caller: ctx.caller.clone(), id, now: ctx.now() }).await
}

struct Recall {
    caller: Arc<Caller>,
    id: PublicationId,
    now: Timestamp,
}

impl Operation for Recall {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let publication = tx.publication(&self.caller.user, &self.id).await?;
        let publication = publication.ok_or_else(Refusal::publication_not_found)?;
        let target = tx.agent_anywhere(&publication.target_agent).await?.ok_or_else(Refusal::publication_not_found)?;
        let scope = target.item_scope(&self.caller.user);
        let found = tx.items(&scope).get(&publication.target_key).await?;
        publication.require_unchanged(found.as_ref())?;
        if let Some(copy) = &found {
            let stamp = Stamp { agent: publication.agent.clone(), user: self.caller.user.clone(), at: self.now };
            let told = Told { kind: EventKind::ItemRecalled, scope: &scope, project: &target.project };
            told.remove(tx, copy, &stamp).await?;
            let record = about(&self.caller, "item.recall", self.now, &scope, copy);
            tx.scope(scope.workspace()).audit().append(record);
        }
        tx.remove_publication(&self.id).await?;
        record_own(tx, &self.caller, "item.recall", &publication, self.now);
        Ok(())
    }
}
