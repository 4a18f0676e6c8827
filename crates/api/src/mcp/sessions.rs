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
use tokio::sync::oneshot;
use tokio::time::Instant;

const MOST: usize = 2_000;
const MOST_OF_ONE_USER: usize = 100;
/// Many clients never say that they are done.
const IDLE: Duration = Duration::from_secs(30 * 60);
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// A client that was cut off comes back sooner, to hear on another stream what it missed.
const LEFT_AFTER: Duration = Duration::from_secs(15);
const LEFT_LOOKED_AT_EVERY: Duration = Duration::from_secs(5);

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
    last_used: Instant,
    /// Requests and streams under way.
    visits: usize,
    /// Dropped with the session; the one who watches over it then goes.
    _watched: oneshot::Sender<()>,
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
        let owner = Owner::of(asker);
        let session = Session { owner: owner.clone(), last_used: Instant::now(), visits: 0, _watched: watched };
        let outcome = self.take_in(id, session);
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
            let unused = theirs.filter(|(_, one)| one.visits == 0).min_by_key(|(_, one)| one.last_used);
            given_up = unused.map(|(id, _)| id.clone());
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
        let mut open = self.lock();
        let session = open.get_mut(id).filter(|session| session.owner.is(owner))?;
        session.visits += 1;
        session.last_used = Instant::now();
        Some(Visit { sessions: self.clone(), id: id.to_owned() })
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
        self.lock().get(id).is_none_or(|session| session.visits == 0 && session.last_used.elapsed() >= IDLE)
    }

    /// Whether nobody is there who could hear an answer: no request is under way, and no stream open.
    fn is_left(&self, id: &str) -> bool {
        self.lock().get(id).is_none_or(|session| session.visits == 0 && session.last_used.elapsed() >= LEFT_AFTER)
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
}

/// Travels beside a request in a session, for what waits there.
#[derive(Clone)]
pub(super) struct Presence {
    sessions: Arc<Sessions>,
    id: String,
}

impl Presence {
    /// Comes back when the client has gone without a word, or has ended the session.
    pub(super) async fn over(&self) {
        while !self.sessions.is_left(&self.id) {
            tokio::time::sleep(LEFT_LOOKED_AT_EVERY).await;
        }
    }
}

impl Visit {
    pub(super) fn presence(&self) -> Presence {
        Presence { sessions: self.sessions.clone(), id: self.id.clone() }
    }

    /// The client has ended the session.
    pub(super) fn forget(self) {
        self.sessions.lock().remove(&self.id);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.lock().get_mut(&self.id) {
            session.visits -= 1;
            session.last_used = Instant::now();
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

    fn of(user: usize) -> Session {
        let user = UserId::parse(&format!("usr_u{user}")).unwrap();
        let participant = Participant::of_user(&user);
        let caller = Caller { user, role: Role::Member, participant, credential: Credential::User };
        let owner = Owner { caller: Arc::new(caller), token: None };
        Session { owner, last_used: Instant::now(), visits: 0, _watched: oneshot::channel().0 }
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
