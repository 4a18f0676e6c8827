//! MCP sessions of clients that speak a version before 2026-07-28: whose each is, how many there may be, when it ends.
//!
//! A session carries no rights. It is a place for subscriptions and their stream, and only the credential that opened it
//! can use it.

use super::askers::Asker;
use domain::callers::Caller;
use domain::ids::TokenId;
use domain::{Code, Refusal, Result};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use service::standing::Standing;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

const MOST: usize = 2_000;
const MOST_OF_ONE_USER: usize = 100;
/// Many clients never say that they are done.
const IDLE: Duration = Duration::from_secs(30 * 60);
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// A client that was cut off comes back sooner, to hear on another stream what it missed.
const LEFT_AFTER: Duration = Duration::from_secs(15);

/// What the SDK keeps its sessions in.
pub(super) fn manager() -> LocalSessionManager {
    let mut manager = LocalSessionManager::default();
    // To the SDK a session with an open but quiet stream is idle; here it is not, so idleness is judged here.
    manager.session_config.keep_alive = None;
    manager.session_config.sse_retry = None;
    manager
}

/// The credential that opened a session.
#[derive(Clone)]
pub(super) struct Owner {
    caller: Arc<Caller>,
    token: Option<TokenId>,
}

impl Owner {
    pub(super) fn of(asker: &Asker) -> Self {
        Self { caller: asker.ctx.caller.clone(), token: asker.signed_in.token.clone() }
    }

    fn is(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.caller, &other.caller);
        self.token == other.token
            && mine.user == theirs.user
            && mine.participant == theirs.participant
            && mine.credential == theirs.credential
    }
}

struct Session {
    owner: Owner,
    /// Whoever waits in the session hears of every change, and of its end.
    used: watch::Sender<Use>,
    /// Dropped with the session; the one who watches over it then goes.
    _watched: oneshot::Sender<()>,
}

/// Whether somebody is in a session, and since when nobody is.
struct Use {
    last_used: Instant,
    /// Requests and streams under way.
    visits: usize,
}

impl Session {
    fn new(owner: Owner, watched: oneshot::Sender<()>) -> Self {
        Self { owner, used: watch::Sender::new(Use { last_used: Instant::now(), visits: 0 }), _watched: watched }
    }

    /// Since when nobody is in it; none while somebody is.
    fn left_at(&self) -> Option<Instant> {
        self.used.borrow().left_at()
    }
}

impl Use {
    fn left_at(&self) -> Option<Instant> {
        (self.visits == 0).then_some(self.last_used)
    }
}

pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    open: Mutex<HashMap<String, Session>>,
}

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self { manager, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a session that the SDK has just made, in the place of the user's longest unused one if need be.
    pub(super) async fn open(self: &Arc<Self>, id: &str, asker: &Asker) -> Result<()> {
        let (watched, gone) = oneshot::channel();
        let outcome = self.take_in(id, Session::new(Owner::of(asker), watched));
        match outcome {
            Ok(given_up) => {
                let standing = Standing::new(&asker.ctx.house, asker.signed_in.clone());
                tokio::spawn(self.clone().watch_over(id.to_owned(), standing, gone));
                if let Some(given_up) = given_up {
                    self.end(&given_up).await;
                }
                Ok(())
            }
            Err(refusal) => {
                self.end(id).await;
                Err(refusal)
            }
        }
    }

    /// Finds room; answers which session had to go for it.
    fn take_in(&self, id: &str, session: Session) -> Result<Option<String>> {
        let mut open = self.lock();
        let user = &session.owner.caller.user;
        let theirs = open.iter().filter(|(_, one)| one.owner.caller.user == *user);
        let mut given_up = None;
        if theirs.clone().count() >= MOST_OF_ONE_USER {
            let unused = theirs.filter_map(|(id, one)| one.left_at().map(|left_at| (left_at, id)));
            given_up = unused.min().map(|(_, id)| id.clone());
            if given_up.is_none() {
                let message = format!("you have {MOST_OF_ONE_USER} MCP sessions open, all in use: end one first");
                return Err(Refusal::new(Code::RateLimited, message));
            }
        } else if open.len() >= MOST {
            return Err(Refusal::new(Code::QueueFull, "too many MCP sessions are open: try again in a moment"));
        }
        if let Some(given_up) = &given_up {
            open.remove(given_up);
        }
        open.insert(id.to_owned(), session);
        Ok(given_up)
    }

    /// Enters a session, if it is the owner's.
    pub(super) fn visit(self: &Arc<Self>, id: &str, owner: &Owner) -> Option<Visit> {
        let open = self.lock();
        let session = open.get(id).filter(|session| session.owner.is(owner))?;
        session.used.send_modify(|used| {
            used.visits += 1;
            used.last_used = Instant::now();
        });
        Some(Visit { sessions: self.clone(), id: id.to_owned(), used: session.used.subscribe() })
    }

    /// Ends a session when its owner's credential ends, when it is idle, or when the house closes.
    async fn watch_over(self: Arc<Self>, id: String, mut standing: Standing, mut gone: oneshot::Receiver<()>) {
        // One wait for all rounds: dropped in the middle of a look it would forget what it was looking at.
        let over = standing.over();
        tokio::pin!(over);
        loop {
            tokio::select! {
                _ = &mut gone => return,
                () = &mut over => break,
                () = tokio::time::sleep(LOOK_EVERY) => {
                    if self.is_idle(&id) || !self.manager.has_session(&id.as_str().into()).await.unwrap_or(false) {
                        break;
                    }
                }
            }
        }
        self.lock().remove(&id);
        self.end(&id).await;
    }

    fn is_idle(&self, id: &str) -> bool {
        let is_idle = |session: &Session| session.left_at().is_some_and(|left_at| left_at.elapsed() >= IDLE);
        self.lock().get(id).is_none_or(is_idle)
    }

    async fn end(&self, id: &str) {
        if let Err(error) = self.manager.close_session(&id.into()).await {
            tracing::debug!(%error, "an MCP session had ended already");
        }
    }
}

/// A request or a stream in a session; the session is in use for as long as this is held.
pub(super) struct Visit {
    sessions: Arc<Sessions>,
    id: String,
    used: watch::Receiver<Use>,
}

/// Travels beside a request in a session, for what waits there.
#[derive(Clone)]
pub(super) struct Presence(watch::Receiver<Use>);

impl Presence {
    /// Comes back when the client has gone without a word, or has ended the session: nobody is there who could hear an answer,
    /// for no request is under way and no stream open. Sleeps until somebody comes or goes.
    pub(super) async fn over(&self) {
        let mut used = self.0.clone();
        loop {
            let left_at = used.borrow_and_update().left_at();
            let is_left = async {
                match left_at {
                    Some(left_at) => tokio::time::sleep_until(left_at + LEFT_AFTER).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // First: somebody may come back at the last moment.
                biased;
                changed = used.changed() => if changed.is_err() { return },
                () = is_left => return,
            }
        }
    }
}

impl Visit {
    pub(super) fn presence(&self) -> Presence {
        Presence(self.used.clone())
    }

    /// The client has ended the session.
    pub(super) fn forget(self) {
        self.sessions.lock().remove(&self.id);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.lock().get(&self.id) {
            session.used.send_modify(|used| {
                used.visits -= 1;
                used.last_used = Instant::now();
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::callers::Credential;
    use domain::ids::UserId;
    use domain::participants::Participant;
    use domain::roles::Role;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn of(user: usize) -> Session {
        let user = UserId::parse(&format!("usr_u{user}")).unwrap();
        let participant = Participant::of_user(&user);
        let caller = Caller { user, role: Role::Member, participant, credential: Credential::User };
        let owner = Owner { caller: Arc::new(caller), token: None };
        Session::new(owner, oneshot::channel().0)
    }

    fn sessions() -> Arc<Sessions> {
        Arc::new(Sessions::new(Arc::new(manager())))
    }

    #[tokio::test]
    async fn there_is_room_for_two_thousand_and_nobody_is_turned_out_for_somebody_else() {
        let sessions = sessions();
        for number in 0..MOST {
            assert_eq!(sessions.take_in(&number.to_string(), of(number / 50)), Ok(None));
        }
        let refused = sessions.take_in("one more", of(9999)).unwrap_err();
        assert_eq!(refused.code, Code::QueueFull);
        assert_eq!(sessions.lock().len(), MOST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_has_gone_when_neither_its_request_nor_another_stream_is_open_for_a_while() {
        let sessions = sessions();
        let owner = of(1).owner;
        sessions.take_in("a", of(1)).unwrap();
        let asked = sessions.visit("a", &owner).unwrap();
        let (presence, begun) = (asked.presence(), Instant::now());
        let is_over = |longest| tokio::time::timeout(longest, presence.over());
        assert!(is_over(10 * LEFT_AFTER).await.is_err(), "the request is under way");
        let stream = sessions.visit("a", &owner);
        drop(asked);
        assert!(is_over(10 * LEFT_AFTER).await.is_err(), "it can be heard on the stream of the session");
        drop(stream);
        assert!(is_over(LEFT_AFTER / 2).await.is_err(), "it may come back");
        let back = sessions.visit("a", &owner);
        assert!(is_over(10 * LEFT_AFTER).await.is_err(), "it is back");
        drop(back);
        assert!(is_over(2 * LEFT_AFTER).await.is_ok());
        assert!(begun.elapsed() > 30 * LEFT_AFTER);
        sessions.visit("a", &owner).unwrap().forget();
        assert!(is_over(Duration::from_millis(1)).await.is_ok(), "it has ended the session");
    }

    /// Waits for a client to go, and counts how often it is looked whether it has.
    fn waits(presence: Presence) -> (tokio::task::JoinHandle<()>, Arc<AtomicUsize>) {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = looks.clone();
        let mut over = Box::pin(async move { presence.over().await });
        let look = std::future::poll_fn(move |cx| {
            counted.fetch_add(1, Ordering::Relaxed);
            over.as_mut().poll(cx)
        });
        (tokio::spawn(look), looks)
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_wakes_when_somebody_comes_or_goes_and_at_no_other_time() {
        let sessions = sessions();
        let owner = of(1).owner;
        sessions.take_in("a", of(1)).unwrap();
        let asked = sessions.visit("a", &owner).unwrap();
        let (waiting, looks) = waits(asked.presence());
        let looked_after = async |time| {
            tokio::time::sleep(time).await;
            looks.load(Ordering::Relaxed)
        };
        assert_eq!(looked_after(100 * LEFT_AFTER).await, 1, "nothing has changed");
        drop(asked);
        assert_eq!(looked_after(LEFT_AFTER / 2).await, 2);
        assert!(!waiting.is_finished());
        assert_eq!(looked_after(LEFT_AFTER).await, 3);
        assert!(waiting.is_finished());

        let asked = sessions.visit("a", &owner).unwrap();
        let (waiting, _) = waits(asked.presence());
        tokio::task::yield_now().await;
        let begun = Instant::now();
        asked.forget();
        waiting.await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO, "the session has ended");
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_idle_when_nobody_was_in_it_for_half_an_hour() {
        let sessions = sessions();
        let owner = of(1).owner;
        sessions.take_in("a", of(1)).unwrap();
        let visit = sessions.visit("a", &owner);
        tokio::time::advance(2 * IDLE).await;
        assert!(visit.is_some() && !sessions.is_idle("a"), "a stream is open");
        drop(visit);
        assert!(!sessions.is_idle("a"), "it was open until just now");
        tokio::time::advance(IDLE).await;
        assert!(sessions.is_idle("a"));
        assert!(sessions.visit("a", &of(2).owner).is_none(), "and it is nobody else's");
    }
}
