//! What a stream reads: how far the log goes, and what it has beyond a place.

use crate::{Error, Result, agents, policy};
use domain::callers::Caller;
use domain::events::{RecordedEvent, StreamId};
use domain::ids::{ProjectId, SessionId, UserId, WorkspaceId};
use domain::items::ItemScope;
use domain::platform_tools::{WORKSPACE_LIST, WORKSPACE_READ};
use std::sync::Arc;
use store::{Operation, Tx};

const READ_AT_ONCE: u64 = 256;

pub(super) struct SessionBounds {
    pub(super) workspace: WorkspaceId,
    pub(super) session: SessionId,
}

impl Operation for SessionBounds {
    type Output = (u64, u64);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<(u64, u64)> {
        let session = tx.scope(&self.workspace).sessions().get(&self.session).await?;
        let newest = session.map_or(0, |session| session.counters.event_seq);
        oldest(tx, &self.workspace, &StreamId::of_session(&self.session), newest).await
    }
}

/// The first event of a stream that is still retained, and the newest there ever was.
async fn oldest(tx: &mut Tx, workspace: &WorkspaceId, stream: &StreamId, newest: u64) -> Result<(u64, u64)> {
    let first = tx.scope(workspace).events().after(stream, 0, 1).await?;
    Ok((first.first().map_or(newest + 1, |event| event.stream_seq), newest))
}

pub(super) struct ItemBounds {
    pub(super) scope: ItemScope,
}

impl Operation for ItemBounds {
    type Output = (u64, u64);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<(u64, u64)> {
        let newest = tx.items(&self.scope).counters().await?.seq;
        oldest(tx, self.scope.workspace(), &StreamId::of_items(&self.scope), newest).await
    }
}

/// The scope that the token's agent works on.
pub(super) struct OwnScope {
    pub(super) caller: Arc<Caller>,
}

impl Operation for OwnScope {
    type Output = ItemScope;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<ItemScope> {
        let agent = agents::find_own(tx, &self.caller).await?;
        // Either shows what a stream tells: that keys changed.
        let may = |tool| policy::require_platform(&self.caller, &agent, tool);
        may(WORKSPACE_LIST).or_else(|_| may(WORKSPACE_READ))?;
        Ok(agent.item_scope(&self.caller.user))
    }
}

pub(super) struct HouseBounds;

impl Operation for HouseBounds {
    type Output = (u64, u64);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<(u64, u64)> {
        Ok(tx.event_bounds().await?)
    }
}

pub(super) struct StreamLog {
    pub(super) workspace: WorkspaceId,
    pub(super) stream: StreamId,
    pub(super) after: u64,
}

impl Operation for StreamLog {
    type Output = Vec<RecordedEvent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RecordedEvent>> {
        Ok(tx.scope(&self.workspace).events().after(&self.stream, self.after, READ_AT_ONCE).await?)
    }
}

pub(super) struct UserLog {
    pub(super) user: UserId,
    pub(super) after: u64,
}

impl Operation for UserLog {
    type Output = Vec<RecordedEvent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RecordedEvent>> {
        Ok(tx.events_seen_by(&self.user, self.after, READ_AT_ONCE).await?)
    }
}

pub(super) struct ProjectLog {
    pub(super) workspace: WorkspaceId,
    pub(super) project: ProjectId,
    pub(super) after: u64,
}

impl Operation for ProjectLog {
    type Output = Vec<RecordedEvent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RecordedEvent>> {
        Ok(tx.events_of_project(&self.workspace, &self.project, self.after, READ_AT_ONCE).await?)
    }
}
