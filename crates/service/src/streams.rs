//! Event streams: a contiguous slice of the log, then whatever is committed next.
//!
//! A stream reads the log and is only woken by the fan-out, so it can neither skip nor repeat. It ends when its
//! credential does, when it may no longer see what it shows, or when the reader goes.

use crate::authority::SignedIn;
use crate::sessions::{Get, SessionRef};
use crate::users::Memberships;
use crate::{Ctx, Error, House, Result, standing};
use domain::events::RecordedEvent;
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::keys::KeySelection;
use domain::sessions::Session;
use domain::times::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::{Bell, News, Operation, Tx, Watch};
use tokio::sync::watch;

const READ_AT_ONCE: u64 = 256;
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a stream shows.
pub enum Item {
    Event {
        id: u64,
        event: Arc<RecordedEvent>,
    },
    /// The reader's place in the log is unknown: it must look at the state itself and go on from `id`.
    Reset {
        id: u64,
        at: Timestamp,
        session: Option<Box<Session>>,
    },
    Heartbeat,
}

/// Where a reader left off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// Only what comes from now on.
    Now,
    After(u64),
}

/// What is being watched, and how news of it arrive.
enum Source {
    Session { workspace: WorkspaceId, session: SessionId, uid: String, watch: Watch },
    User { user: UserId, bell: Bell },
}

pub struct EventStream {
    house: House,
    signed_in: Arc<SignedIn>,
    source: Source,
    selection: KeySelection,
    cursor: u64,
    /// Whether the log has nothing beyond the cursor, as far as is known.
    caught_up: bool,
    ready: VecDeque<Item>,
    rights: watch::Receiver<u64>,
}

/// The events of one session.
pub async fn of_session(
    ctx: &Ctx,
    signed_in: Arc<SignedIn>,
    reference: SessionRef,
    selection: KeySelection,
    start: Start,
) -> Result<EventStream> {
    let rights = ctx.house.authority().watch();
    let caller = ctx.caller.clone();
    let session = ctx.house.store().read(Get { caller, reference }).await?;
    // Watched before the log is read, so that nothing falls in between.
    let watch = ctx.house.store().watch_session(&session.workspace, &session.id);
    let (workspace, id, uid) = (session.workspace.clone(), session.id.clone(), session.uid.clone());
    let bounds = ctx.house.store().read(SessionBounds { workspace: workspace.clone(), session: id.clone() }).await?;
    let (cursor, reset) = place(start, bounds);
    let mut ready = VecDeque::new();
    if reset {
        ready.push_back(Item::Reset { id: cursor, at: ctx.now(), session: Some(Box::new(session)) });
    }
    let source = Source::Session { workspace, session: id, uid, watch };
    Ok(EventStream { house: ctx.house.clone(), signed_in, source, selection, cursor, caught_up: false, ready, rights })
}

/// The events of every workspace that the caller is a member of.
pub async fn of_user(
    ctx: &Ctx,
    signed_in: Arc<SignedIn>,
    selection: KeySelection,
    start: Start,
) -> Result<EventStream> {
    ctx.caller.require_person()?;
    let rights = ctx.house.authority().watch();
    let user = ctx.caller.user.clone();
    let bell = bell(&ctx.house, &user).await?;
    let bounds = ctx.house.store().read(HouseBounds).await?;
    let (cursor, reset) = place(start, bounds);
    let mut ready = VecDeque::new();
    if reset {
        ready.push_back(Item::Reset { id: cursor, at: ctx.now(), session: None });
    }
    let source = Source::User { user, bell };
    Ok(EventStream { house: ctx.house.clone(), signed_in, source, selection, cursor, caught_up: false, ready, rights })
}

async fn bell(house: &House, user: &UserId) -> Result<Bell> {
    let memberships = house.store().read(Memberships { user: user.clone() }).await?;
    let workspaces: Vec<_> = memberships.into_iter().map(|membership| membership.workspace).collect();
    Ok(house.store().bell(&workspaces))
}

/// Where to start, and whether the reader has to be told that its place is gone.
fn place(start: Start, (oldest, newest): (u64, u64)) -> (u64, bool) {
    match start {
        Start::Now => (newest, false),
        Start::After(id) if id <= newest && id + 1 >= oldest => (id, false),
        Start::After(_) => (newest, true),
    }
}

impl EventStream {
    /// The next thing to show; `None` when the stream is over.
    pub async fn next(&mut self) -> Option<Item> {
        loop {
            let step = match self.check_standing().await {
                Ok(()) if !self.ready.is_empty() => return self.ready.pop_front(),
                Ok(()) => self.advance().await,
                Err(error) => Err(error),
            };
            match step {
                Ok(true) => {}
                Ok(false) => return Some(Item::Heartbeat),
                Err(error) => {
                    tracing::debug!(%error, "a stream ends");
                    return None;
                }
            }
        }
    }

    /// Reads on, or waits for news. `false` = nothing happened for a while.
    async fn advance(&mut self) -> Result<bool> {
        if !self.caught_up {
            self.caught_up = !self.read_log().await?;
            return Ok(true);
        }
        let house = self.house.clone();
        let expires = self.signed_in.expires_at;
        let left = expires.map(|at| u64::try_from(at.as_ms() - house.now().as_ms()).unwrap_or(0));
        let pause = left.map_or(HEARTBEAT, |left| HEARTBEAT.min(Duration::from_millis(left)));
        tokio::select! {
            biased;
            // What changed is looked at before anything more is shown.
            _ = self.rights.changed() => {
                self.rights.mark_changed();
                Ok(true)
            }
            news = self.source.news() => {
                match news {
                    Some(News::Event(event)) => self.take(event),
                    Some(News::Missed) | None => self.caught_up = false,
                }
                Ok(true)
            }
            () = tokio::time::sleep(pause) => Ok(false),
        }
    }

    /// An event that came straight from the fan-out is shown if it is the very next one; else the log is read.
    fn take(&mut self, event: Arc<RecordedEvent>) {
        if event.session_seq == self.cursor + 1 {
            self.cursor = event.session_seq;
            self.show(event.session_seq, event);
        } else if event.session_seq > self.cursor {
            self.caught_up = false;
        }
    }

    fn show(&mut self, id: u64, event: Arc<RecordedEvent>) {
        let wanted = event.key.as_ref().is_none_or(|key| self.selection.admits(key));
        if wanted && event.is_visible_to(&self.signed_in.caller.participant) {
            self.ready.push_back(Item::Event { id, event });
        }
    }

    /// Reads what the log has beyond the cursor; answers whether there was anything.
    async fn read_log(&mut self) -> Result<bool> {
        let (found, by_session) = match &self.source {
            Source::Session { workspace, session, .. } => {
                let (workspace, session) = (workspace.clone(), session.clone());
                (self.house.store().read(SessionLog { workspace, session, after: self.cursor }).await?, true)
            }
            Source::User { user, .. } => {
                (self.house.store().read(UserLog { user: user.clone(), after: self.cursor }).await?, false)
            }
        };
        let any = !found.is_empty();
        // A reader so slow that what it has not seen is forgotten already has to look for itself.
        if by_session && found.first().is_some_and(|event| event.session_seq > self.cursor + 1) {
            let id = found[0].session_seq - 1;
            self.ready.push_back(Item::Reset { id, at: self.house.now(), session: None });
        }
        for event in found {
            let id = if by_session { event.session_seq } else { event.seq };
            self.cursor = id;
            self.show(id, Arc::new(event));
        }
        Ok(any)
    }

    /// Nothing is shown, however long it has been ready, to a reader whose time or whose rights are over.
    async fn check_standing(&mut self) -> Result<()> {
        if self.signed_in.expires_at.is_some_and(|at| self.house.now() >= at) {
            return Err(crate::signing::unauthenticated().into());
        }
        if self.rights.has_changed().unwrap_or(true) {
            self.rights.mark_unchanged();
            self.check_rights().await?;
        }
        Ok(())
    }

    /// Somebody's rights shrank: maybe this reader's.
    async fn check_rights(&mut self) -> Result<()> {
        standing::check(&self.house, &self.signed_in).await?;
        match &mut self.source {
            Source::Session { workspace, session, uid, .. } => {
                let workspace = Some(workspace.as_str().to_owned());
                let reference = SessionRef { id: session.clone(), workspace };
                let caller = self.signed_in.caller.clone();
                let found = self.house.store().read(Get { caller, reference }).await?;
                // Another session may have been given the same id since.
                if found.uid == *uid { Ok(()) } else { Err(domain::Refusal::session_not_found().into()) }
            }
            Source::User { user, bell: old } => {
                *old = bell(&self.house, user).await?;
                Ok(())
            }
        }
    }
}

impl Source {
    async fn news(&mut self) -> Option<News> {
        match self {
            Self::Session { watch, .. } => Some(watch.next().await),
            Self::User { bell, .. } => {
                bell.rung().await;
                None
            }
        }
    }
}

struct SessionBounds {
    workspace: WorkspaceId,
    session: SessionId,
}

impl Operation for SessionBounds {
    type Output = (u64, u64);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<(u64, u64)> {
        let session = tx.scope(&self.workspace).sessions().get(&self.session).await?;
        let newest = session.map_or(0, |session| session.counters.event_seq);
        let first = tx.scope(&self.workspace).events().after(&self.session, 0, 1).await?;
        Ok((first.first().map_or(newest + 1, |event| event.session_seq), newest))
    }
}

struct HouseBounds;

impl Operation for HouseBounds {
    type Output = (u64, u64);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<(u64, u64)> {
        Ok(tx.event_bounds().await?)
    }
}

struct SessionLog {
    workspace: WorkspaceId,
    session: SessionId,
    after: u64,
}

impl Operation for SessionLog {
    type Output = Vec<RecordedEvent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RecordedEvent>> {
        Ok(tx.scope(&self.workspace).events().after(&self.session, self.after, READ_AT_ONCE).await?)
    }
}

struct UserLog {
    user: UserId,
    after: u64,
}

impl Operation for UserLog {
    type Output = Vec<RecordedEvent>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<RecordedEvent>> {
        Ok(tx.events_seen_by(&self.user, self.after, READ_AT_ONCE).await?)
    }
}
