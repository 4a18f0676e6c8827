//! Subscriptions to entries, in both generations of the protocol, driven by the events of the entries' sessions.
//!
//! Since 2026-07-28 a client asks once for all it wants (`subscriptions/listen`) and that answer is the stream. Before,
//! it subscribes to one address at a time, and an MCP session's stream carries the news. Either way the news come from
//! `service::streams`, which stops showing anything the moment the reader's rights are gone.

mod watches;

pub(super) use watches::Watches;

use super::askers::Asker;
use super::resources::Address;
use crate::errors::Result;
use axum::http::request::Parts;
use domain::events::EventKind;
use domain::ids::{SessionId, UserId};
use domain::keys::KeySelection;
use domain::{Code, Refusal};
use futures_util::future::join_all;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use service::sessions::SessionRef;
use service::standing::Standing;
use service::streams::{self, EventStream, Item, Start};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Addresses in one `subscriptions/listen`, or in one MCP session.
const MOST: usize = 256;
/// How many sessions those addresses may be of, one's own items counting as one.
const MOST_PLACES: usize = 16;
const MOST_LISTENS_OF_ONE_USER: usize = 100;

/// Where something is watched.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    /// In a session, by its id and, where it was said, its workspace.
    Session(SessionId, Option<String>),
    /// Among the items of the caller's agent.
    Items,
}

impl Place {
    fn of_session(session: SessionRef) -> Self {
        Self::Session(session.id, session.workspace)
    }

    /// Where an address is of, the caller's own session by one name only, so that it is followed once; and the key there.
    fn of(asker: &Asker, address: Address) -> (Self, String) {
        match address {
            Address::Item { key } => (Self::Items, key),
            Address::Entry { session, key } => {
                let is_own = |own: &SessionRef| {
                    own.id == session.id && (session.workspace.is_none() || session.workspace == own.workspace)
                };
                (Self::of_session(asker.own_session().filter(is_own).unwrap_or(session)), key)
            }
        }
    }

    /// Where the caller's own lists are.
    fn own(asker: &Asker) -> Vec<Self> {
        let session = asker.own_session().map(Self::of_session);
        session.into_iter().chain(asker.is_agent().then_some(Self::Items)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What somebody wants to hear of one place.
#[derive(Default)]
struct Wanted {
    /// Keys by the address that was subscribed to.
    keys: HashMap<String, String>,
    lists: bool,
}

enum News {
    Updated(String),
    ListChanged,
}

impl Wanted {
    fn news_in(&self, item: &Item) -> Vec<News> {
        let about = |wanted: &dyn Fn(&str) -> bool| {
            let found = self.keys.iter().filter(|(_, key)| wanted(key));
            found.map(|(uri, _)| News::Updated(uri.clone())).collect::<Vec<_>>()
        };
        let (mut news, changes_lists) = match item {
            Item::Heartbeat | Item::Whisper(_) => return Vec::new(),
            // Something was missed: whoever wants to know has to look.
            Item::Reset { .. } => (about(&|_| true), true),
            Item::Event { event, .. } => match &event.key {
                Some(name) => (about(&|key| key == name), changes_list(event)),
                None => return Vec::new(),
            },
        };
        if self.lists && changes_lists {
            news.push(News::ListChanged);
        }
        news
    }
}

/// Whether a key came or went. With access lists a write may have made a key visible that was there before.
fn changes_list(event: &domain::events::RecordedEvent) -> bool {
    let is_new = || serde_json::from_str::<Value>(&event.data).is_ok_and(|data| data["version"] == 1);
    let is_write = [EventKind::ContextWritten, EventKind::ItemWritten].iter().any(|kind| kind.as_str() == event.kind);
    !is_write || event.readable_by.is_some() || is_new()
}

/// Where news go.
enum Listener {
    Stream(SubscriptionSink),
    Session(Peer<RoleServer>),
}

impl Listener {
    /// Whether it could still be told.
    async fn tell(&self, news: News) -> bool {
        match (self, news) {
            (Self::Stream(sink), News::Updated(uri)) => sink.notify_resource_updated(uri).await.is_ok(),
            (Self::Stream(sink), News::ListChanged) => sink.notify_resource_list_changed().await.is_ok(),
            (Self::Session(peer), News::Updated(uri)) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_ok()
            }
            (Self::Session(peer), News::ListChanged) => peer.notify_resource_list_changed().await.is_ok(),
        }
    }
}

/// Tells a listener what a stream shows, until either is gone.
async fn follow(mut stream: EventStream, wanted: Arc<Mutex<Wanted>>, listener: Listener) {
    while let Some(item) = stream.next().await {
        let news = lock(&wanted).news_in(&item);
        for one in news {
            if !listener.tell(one).await {
                return;
            }
        }
    }
}

async fn stream_of(asker: &Asker, place: Place) -> service::Result<EventStream> {
    let (ctx, signed_in, selection) = (&asker.ctx, asker.signed_in.clone(), KeySelection::default());
    match place {
        Place::Session(id, workspace) => {
            streams::of_session(ctx, signed_in, SessionRef { id, workspace }, selection, Start::Now).await
        }
        Place::Items => streams::of_items(ctx, signed_in, selection, Start::Now).await,
    }
}

/// The first so many addresses that could be of something. That a session is unseen shows in silence, as with a key that
/// never changes.
fn acceptable<'u>(uris: impl Iterator<Item = &'u str>) -> Vec<(&'u str, Address)> {
    let (mut seen, mut places) = (HashSet::new(), HashSet::new());
    let known = uris.filter_map(|uri| Some((uri, Address::parse(uri)?))).filter(|(uri, _)| seen.insert(*uri));
    let within = known.filter(|(_, address)| {
        let place = match address {
            Address::Entry { session, .. } => Place::of_session(session.clone()),
            Address::Item { .. } => Place::Items,
        };
        places.contains(&place) || (places.len() < MOST_PLACES && places.insert(place))
    });
    within.take(MOST).collect()
}

/// The part of a filter that is honoured.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    accepted.resource_subscriptions = requested
        .resource_subscriptions
        .as_ref()
        .map(|uris| acceptable(uris.iter().map(String::as_str)).into_iter().map(|(uri, _)| uri.to_owned()).collect());
    accepted
}

type Opened = Vec<(EventStream, Wanted)>;

/// Streams that the door opened before the SDK acknowledged the subscription, so that nothing falls in between.
#[derive(Clone, Default)]
struct Prepared(Arc<Mutex<Opened>>);

/// How many `subscriptions/listen` each user has open.
#[derive(Clone, Default)]
pub(super) struct Listens(Arc<Mutex<HashMap<UserId, usize>>>);

impl Listens {
    /// Makes ready what a `subscriptions/listen` asks for, and counts it for as long as the answer is held.
    pub(super) async fn open(&self, asker: &Asker, params: &Value, parts: &mut Parts) -> Result<Listen> {
        let place = self.enter(&asker.ctx.caller.user)?;
        parts.extensions.insert(Prepared(Arc::new(Mutex::new(prepare(asker, params).await?))));
        Ok(place)
    }

    fn enter(&self, user: &UserId) -> Result<Listen> {
        let mut open = lock(&self.0);
        let count = open.entry(user.clone()).or_default();
        if *count >= MOST_LISTENS_OF_ONE_USER {
            let message = format!("you have {MOST_LISTENS_OF_ONE_USER} subscriptions/listen open: end one first");
            return Err(Refusal::new(Code::RateLimited, message).into());
        }
        *count += 1;
        Ok(Listen { listens: self.clone(), user: user.clone() })
    }
}

/// A place among a user's listens.
pub(super) struct Listen {
    listens: Listens,
    user: UserId,
}

impl Drop for Listen {
    fn drop(&mut self) {
        let mut open = lock(&self.listens.0);
        if let Some(count) = open.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}

async fn prepare(asker: &Asker, params: &Value) -> Result<Opened> {
    let uris = params["notifications"]["resourceSubscriptions"].as_array();
    let mut wanted: HashMap<Place, Wanted> = HashMap::new();
    for (uri, address) in acceptable(uris.into_iter().flatten().filter_map(Value::as_str)) {
        let (place, key) = Place::of(asker, address);
        wanted.entry(place).or_default().keys.insert(uri.to_owned(), key);
    }
    if params["notifications"]["resourcesListChanged"] == true {
        Place::own(asker).into_iter().for_each(|place| wanted.entry(place).or_default().lists = true);
    }
    let mut opened = Vec::new();
    for (place, wanted) in wanted {
        match stream_of(asker, place).await {
            Ok(stream) => opened.push((stream, wanted)),
            Err(error) if is_unseen(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(opened)
}

/// Nothing there for this caller, which shows in silence.
fn is_unseen(error: &service::Error) -> bool {
    use Code::{AgentNotFound, AmbiguousSession, Forbidden, SessionNotFound};
    matches!(error.code(), SessionNotFound | AmbiguousSession | AgentNotFound | Forbidden)
}

/// Serves one `subscriptions/listen` until the client goes, the credential ends or nothing is left to follow.
pub(super) async fn listen(context: &SubscriptionContext) -> Result<(), ErrorData> {
    let extensions = &context.request_context().extensions;
    let asker = Asker::of(extensions)?;
    let prepared = extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Prepared>()).cloned();
    let opened = std::mem::take(&mut *lock(&prepared.unwrap_or_default().0));
    let follows_nothing = opened.is_empty();
    let following = opened
        .into_iter()
        .map(|(stream, wanted)| follow(stream, Arc::new(Mutex::new(wanted)), Listener::Stream(context.sink().clone())));
    let mut standing = Standing::new(&asker.ctx.house, asker.signed_in.clone());
    tokio::select! {
        _ = join_all(following), if !follows_nothing => {}
        () = standing.over() => {}
        () = context.cancelled() => {}
    }
    Ok(())
}
