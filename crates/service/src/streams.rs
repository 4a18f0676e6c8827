//! Event streams: a contiguous slice of the log, then whatever is committed next.
//!
//! A stream reads the log and is only woken by the fan-out, so it can neither skip nor repeat. It ends when its
//! credential does, when it may no longer see what it shows, or when the reader goes. Whispers are shown between the
//! events as they come, to whoever keeps up.

mod logs;

use crate::authority::SignedIn;
use crate::projects::{self, ProjectRef};
use crate::sessions::{Get, SessionRef};
use crate::users::Memberships;
use crate::{Ctx, House, Result, rules, standing};
use domain::Refusal;
use domain::callers::Credential;
use domain::events::{RecordedEvent, Sight, StreamId, Whisper};
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::items::ItemScope;
use domain::keys::KeySelection;
use domain::projects::Project;
use domain::roles::Role;
use domain::sessions::Session;
use domain::times::Timestamp;
use logs::{HouseBounds, ItemBounds, OwnScope, ProjectLog, SessionBounds, StreamLog, UserLog};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::{Bell, Heard, News, Watch};
use tokio::sync::watch;

const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a stream shows.
pub enum Item {
    Event {
        id: u64,
        event: Arc<RecordedEvent>,
    },
    /// Has no number and is in no log.
    Whisper(Arc<Whisper>),
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
    /// Numbered by itself: its events come straight from the fan-out.
    Stream { workspace: WorkspaceId, stream: StreamId, watch: Watch, of: Numbered },
    /// Picked out of the house's log.
    Log { bell: Bell, of: Picked },
}

/// Whose numbers they are.
enum Numbered {
    Session {
        id: SessionId,
        uid: String,
    },
    /// The items that the token's agent works on.
    Items {
        scope: ItemScope,
    },
}

enum Picked {
    User,
    Project(Box<Project>),
}

pub struct EventStream {
    house: House,
    signed_in: Arc<SignedIn>,
    source: Source,
    selection: KeySelection,
    cursor: u64,
    /// The newest event that was looked at, by its number in the house.
    seen: u64,
    /// Whether the log has nothing beyond the cursor, as far as is known.
    caught_up: bool,
    ready: VecDeque<Item>,
    rights: watch::Receiver<u64>,
    /// The reader's role as it was found last, and whether it decides about calls of others by the rules in force.
    role: Role,
    decides_for_others: bool,
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
    let stream = StreamId::of_session(&session.id);
    let of = Numbered::Session { id: session.id.clone(), uid: session.uid.clone() };
    let snapshot = Some(Box::new(session.clone()));
    let opened = Opened { ctx, signed_in, selection, rights };
    opened.numbered(session.workspace, stream, of, start, snapshot).await
}

/// The events of the items that the caller's agent works on.
pub async fn of_items(
    ctx: &Ctx,
    signed_in: Arc<SignedIn>,
    selection: KeySelection,
    start: Start,
) -> Result<EventStream> {
    let rights = ctx.house.authority().watch();
    let scope = ctx.house.store().read(OwnScope { caller: ctx.caller.clone() }).await?;
    let (workspace, stream) = (scope.workspace().clone(), StreamId::of_items(&scope));
    let opened = Opened { ctx, signed_in, selection, rights };
    opened.numbered(workspace, stream, Numbered::Items { scope }, start, None).await
}

/// The events of one project.
pub async fn of_project(
    ctx: &Ctx,
    signed_in: Arc<SignedIn>,
    reference: ProjectRef,
    selection: KeySelection,
    start: Start,
) -> Result<EventStream> {
    ctx.caller.require_person()?;
    let rights = ctx.house.authority().watch();
    let project = ctx.house.store().read(projects::Find { caller: ctx.caller.clone(), reference }).await?;
    let bell = ctx.house.store().bell(std::slice::from_ref(&project.workspace), Some(project.id.clone()));
    let source = Source::Log { bell, of: Picked::Project(Box::new(project)) };
    Opened { ctx, signed_in, selection, rights }.picked(source, start).await
}

/// The events of every workspace that the caller is a member of; for a node, those about the calls it is to make.
pub async fn of_user(
    ctx: &Ctx,
    signed_in: Arc<SignedIn>,
    selection: KeySelection,
    start: Start,
) -> Result<EventStream> {
    if !matches!(ctx.caller.credential, Credential::Node { .. }) {
        ctx.caller.require_person()?;
    }
    let rights = ctx.house.authority().watch();
    let workspaces = workspaces_of(&ctx.house, &ctx.caller.user).await?;
    let bell = ctx.house.store().bell(&workspaces, None);
    let source = Source::Log { bell, of: Picked::User };
    Opened { ctx, signed_in, selection, rights }.picked(source, start).await
}

/// A stream that is being opened. Rights are watched from before anything was looked at.
struct Opened<'c> {
    ctx: &'c Ctx,
    signed_in: Arc<SignedIn>,
    selection: KeySelection,
    rights: watch::Receiver<u64>,
}

impl Opened<'_> {
    async fn numbered(
        self,
        workspace: WorkspaceId,
        stream: StreamId,
        of: Numbered,
        start: Start,
        session: Option<Box<Session>>,
    ) -> Result<EventStream> {
        let store = self.ctx.house.store();
        // Watched before the log is read, so that nothing falls in between.
        let watch = store.watch(&workspace, &stream);
        let bounds = match &of {
            Numbered::Session { id, .. } => {
                store.read(SessionBounds { workspace: workspace.clone(), session: id.clone() }).await?
            }
            Numbered::Items { scope } => store.read(ItemBounds { scope: scope.clone() }).await?,
        };
        let (cursor, is_lost) = place(start, bounds);
        let reset = is_lost.then(|| Item::Reset { id: cursor, at: self.ctx.now(), session });
        Ok(self.stream(Source::Stream { workspace, stream, watch, of }, cursor, reset))
    }

    async fn picked(self, source: Source, start: Start) -> Result<EventStream> {
        let bounds = self.ctx.house.store().read(HouseBounds).await?;
        let (cursor, is_lost) = place(start, bounds);
        let reset = is_lost.then(|| Item::Reset { id: cursor, at: self.ctx.now(), session: None });
        Ok(self.stream(source, cursor, reset))
    }

    fn stream(self, source: Source, cursor: u64, reset: Option<Item>) -> EventStream {
        let Self { ctx, signed_in, selection, rights } = self;
        let (house, ready) = (ctx.house.clone(), reset.into_iter().collect());
        let role = signed_in.caller.role.clone();
        EventStream {
            house,
            signed_in,
            source,
            selection,
            cursor,
            seen: 0,
            caught_up: false,
            ready,
            rights,
            role,
            decides_for_others: false,
        }
    }
}

async fn workspaces_of(house: &House, user: &UserId) -> Result<Vec<WorkspaceId>> {
    let memberships = house.store().read(Memberships { user: user.clone() }).await?;
    Ok(memberships.into_iter().map(|membership| membership.workspace).collect())
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
                    News::Event(event) => self.take(event),
                    News::Whisper(heard) => self.hear(heard),
                    News::Missed => self.caught_up = false,
                }
                Ok(true)
            }
            () = tokio::time::sleep(pause) => {
                // One whom nothing concerns keeps up with the log all the same, or it would have far to go some day.
                self.caught_up = matches!(self.source, Source::Stream { .. });
                Ok(false)
            }
        }
    }

    /// An event that came straight from the fan-out is shown if it is the very next one; else the log is read.
    fn take(&mut self, event: Arc<RecordedEvent>) {
        if event.stream_seq == self.cursor + 1 {
            self.cursor = event.stream_seq;
            self.show(event.stream_seq, event);
        } else if event.stream_seq > self.cursor {
            self.caught_up = false;
        }
    }

    /// A whisper that an event has overtaken, because the log was read meanwhile, is of no use any more.
    fn hear(&mut self, Heard { whisper, after }: Heard) {
        let is_for_people = !matches!(self.signed_in.caller.credential, Credential::Node { .. });
        if after >= self.seen && is_for_people {
            self.ready.push_back(Item::Whisper(whisper));
        }
    }

    fn show(&mut self, id: u64, event: Arc<RecordedEvent>) {
        self.seen = self.seen.max(event.seq);
        if event.key.as_ref().is_some_and(|key| !self.selection.admits(key)) {
            return;
        }
        let has_numbers = matches!(self.source, Source::Stream { .. });
        match event.sight(&self.signed_in.caller, self.decides_for_others) {
            Sight::Whole => self.ready.push_back(Item::Event { id, event }),
            Sight::Trace if has_numbers => {
                self.ready.push_back(Item::Event { id, event: Arc::new(event.trace()) });
            }
            Sight::Trace | Sight::Nothing => {}
        }
    }

    /// What was ready for somebody who decided for others is not shown whole to somebody who does not any more.
    fn look_again_at_what_is_ready(&mut self) {
        for item in std::mem::take(&mut self.ready) {
            match item {
                Item::Event { id, event } => self.show(id, event),
                other => self.ready.push_back(other),
            }
        }
    }

    /// Reads what the log has beyond the cursor; answers whether there may be more.
    async fn read_log(&mut self) -> Result<bool> {
        self.decides_for_others = rules::in_force(&self.house).await?.may_approve(&self.role);
        let (store, after) = (self.house.store(), self.cursor);
        let beyond = match &self.source {
            Source::Stream { workspace, stream, .. } => {
                let (workspace, stream) = (workspace.clone(), stream.clone());
                let found = store.read(StreamLog { workspace, stream, after }).await?;
                return Ok(self.show_numbered(found));
            }
            Source::Log { of: Picked::User, .. } => {
                let user = self.signed_in.caller.user.clone();
                store.read(UserLog { user, after }).await?
            }
            Source::Log { of: Picked::Project(project), .. } => {
                let (workspace, project) = (project.workspace.clone(), project.id.clone());
                store.read(ProjectLog { workspace, project, after }).await?
            }
        };
        // What concerned others is not looked through again.
        self.cursor = beyond.up_to;
        for event in beyond.events {
            self.show(event.seq, Arc::new(event));
        }
        self.house.store().read_up_to(self.seen);
        if !beyond.is_all {
            // Others are served in between, however much there is to look through.
            tokio::task::yield_now().await;
        }
        Ok(!beyond.is_all)
    }

    /// Answers whether there was anything.
    fn show_numbered(&mut self, found: Vec<RecordedEvent>) -> bool {
        let any = !found.is_empty();
        // A reader so slow that what it has not seen is forgotten already has to look for itself.
        if found.first().is_some_and(|event| event.stream_seq > self.cursor + 1) {
            let id = found[0].stream_seq - 1;
            self.ready.push_back(Item::Reset { id, at: self.house.now(), session: None });
        }
        for event in found {
            self.cursor = event.stream_seq;
            self.show(event.stream_seq, Arc::new(event));
        }
        self.house.store().read_up_to(self.seen);
        any
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
        self.role = standing::check(&self.house, &self.signed_in).await?;
        self.decides_for_others = rules::in_force(&self.house).await?.may_approve(&self.role);
        self.look_again_at_what_is_ready();
        let (store, caller) = (self.house.store(), self.signed_in.caller.clone());
        match &mut self.source {
            Source::Stream { workspace, of: Numbered::Session { id, uid }, .. } => {
                let workspace = Some(workspace.as_str().to_owned());
                let found = store.read(Get { caller, reference: SessionRef { id: id.clone(), workspace } }).await?;
                // Another session may have been given the same id since.
                if found.uid == *uid { Ok(()) } else { Err(Refusal::session_not_found().into()) }
            }
            Source::Stream { of: Numbered::Items { scope }, .. } => {
                let now = store.read(OwnScope { caller }).await?;
                if now == *scope { Ok(()) } else { Err(Refusal::agent_not_found().into()) }
            }
            Source::Log { of: Picked::User, bell } => {
                let workspaces = workspaces_of(&self.house, &caller.user).await?;
                *bell = store.bell(&workspaces, None);
                // The other bell may have rung.
                self.caught_up = false;
                self.ready.retain(|item| item.workspace().is_none_or(|of| workspaces.contains(of)));
                Ok(())
            }
            Source::Log { of: Picked::Project(project), .. } => {
                let id_or_name = project.id.as_str().to_owned();
                let reference = ProjectRef { id_or_name, workspace: None };
                store.read(projects::Find { caller, reference }).await.map(drop)
            }
        }
    }
}

impl Item {
    fn workspace(&self) -> Option<&WorkspaceId> {
        match self {
            Self::Event { event, .. } => Some(&event.workspace),
            Self::Whisper(whisper) => Some(&whisper.earshot.workspace),
            Self::Reset { .. } | Self::Heartbeat => None,
        }
    }
}

impl Source {
    async fn news(&mut self) -> News {
        match self {
            Self::Stream { watch, .. } => watch.next().await,
            Self::Log { bell, .. } => bell.next().await,
        }
    }
}
