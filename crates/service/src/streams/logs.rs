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
/// Events of the house that are looked through at once, most of which may concern somebody else.
const LOOKED_THROUGH: u64 = 4_096;

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

/// What a log has beyond a place.
pub(super) struct Beyond {
    pub(super) events: Vec<RecordedEvent>,
    /// There is nothing else for the reader up to this number.
    pub(super) up_to: u64,
    pub(super) is_all: bool,
}

impl Beyond {
    fn new(events: Vec<RecordedEvent>, looked_up_to: u64, newest: u64) -> Self {
        let is_cut = events.len() as u64 >= READ_AT_ONCE;
        let up_to = events.last().filter(|_| is_cut).map_or(looked_up_to, |event| event.seq);
        Self { events, up_to, is_all: up_to >= newest }
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
    type Output = Beyond;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Beyond> {
        // Before the events: what comes meanwhile is not passed over.
        let newest = tx.event_bounds().await?.1;
        let up_to = newest.min(self.after + LOOKED_THROUGH);
        let events = tx.events_seen_by(&self.user, (self.after, up_to), READ_AT_ONCE).await?;
        Ok(Beyond::new(events, up_to.max(self.after), newest))
    }
}

pub(super) struct ProjectLog {
    pub(super) workspace: WorkspaceId,
    pub(super) project: ProjectId,
    pub(super) after: u64,
}

impl Operation for ProjectLog {
    type Output = Beyond;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Beyond> {
        let newest = tx.event_bounds().await?.1;
        let events = tx.events_of_project(&self.workspace, &self.project, self.after, READ_AT_ONCE).await?;
        Ok(Beyond::new(events, newest.max(self.after), newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(numbers: std::ops::RangeInclusive<u64>) -> Vec<RecordedEvent> {
        let event = |seq| RecordedEvent {
            seq,
            stream_seq: seq,
            workspace: WorkspaceId::parse("w").unwrap(),
            stream: StreamId::of_workspace(),
            project: None,
            kind: "ALERT".to_owned(),
            key: None,
            readable_by: None,
            data: "{}".to_owned(),
        };
        numbers.map(event).collect()
    }

    #[test]
    fn a_reader_passes_what_concerns_others_and_nothing_that_was_not_looked_at() {
        let of_others = 10_000;
        let cases = [
            // Nothing of its own among all there is.
            (Vec::new(), of_others, of_others, of_others, true),
            // Nothing of its own as far as was looked.
            (Vec::new(), LOOKED_THROUGH, of_others, LOOKED_THROUGH, false),
            (events(7..=9), LOOKED_THROUGH, of_others, LOOKED_THROUGH, false),
            (events(7..=9), of_others, of_others, of_others, true),
            // More of its own than is read at once: what comes after the last has not been looked at.
            (events(1..=READ_AT_ONCE), LOOKED_THROUGH, of_others, READ_AT_ONCE, false),
            (events(1..=READ_AT_ONCE), READ_AT_ONCE, READ_AT_ONCE, READ_AT_ONCE, true),
        ];
        for (found, looked_up_to, newest, up_to, is_all) in cases {
            let beyond = Beyond::new(found, looked_up_to, newest);
            assert_eq!((beyond.up_to, beyond.is_all), (up_to, is_all));
        }
    }
}
