//! What an MCP session of a version before 2026-07-28 follows: one stream for each session it has subscribed in.

use super::{Listener, MOST, MOST_SESSIONS, Place, Wanted, as_own, follow, lock, place, stream_of};
use crate::mcp::answers::protocol_error;
use crate::mcp::askers::Asker;
use crate::mcp::resources::{Address, not_found};
use domain::{Code, Refusal};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use service::sessions::SessionRef;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

/// Ends with the MCP session.
#[derive(Default)]
pub(in crate::mcp) struct Watches(tokio::sync::Mutex<HashMap<Place, Watch>>);

struct Watch {
    wanted: Arc<Mutex<Wanted>>,
    task: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watches {
    pub(in crate::mcp) async fn add(&self, asker: &Asker, peer: &Peer<RoleServer>, uri: &str) -> Result<(), ErrorData> {
        let Some(Address::Entry { session, key }) = Address::parse(uri) else { return Err(not_found()) };
        let session = as_own(asker, session);
        let mut open = self.0.lock().await;
        open.retain(|_, watch| !watch.task.is_finished());
        let count: usize = open.values().map(|watch| lock(&watch.wanted).keys.len()).sum();
        let known = open.get(&place(&session));
        if count >= MOST || (known.is_none() && open.len() >= MOST_SESSIONS) {
            let message = format!("an MCP session has at most {MOST} subscriptions, to {MOST_SESSIONS} sessions");
            return Err(protocol_error(Refusal::new(Code::RateLimited, message).into()));
        }
        if let Some(watch) = known {
            lock(&watch.wanted).keys.insert(uri.to_owned(), key);
            return Ok(());
        }
        let wanted = Wanted { keys: HashMap::from([(uri.to_owned(), key)]), lists: false };
        let watch = Watch::start(asker, peer, session.clone(), wanted).await.map_err(protocol_error)?;
        open.insert(place(&session), watch);
        Ok(())
    }

    pub(in crate::mcp) async fn remove(&self, uri: &str) {
        let mut open = self.0.lock().await;
        open.retain(|_, watch| {
            let mut wanted = lock(&watch.wanted);
            wanted.keys.remove(uri);
            wanted.lists || !wanted.keys.is_empty()
        });
    }

    /// Follows the caller's own session for keys that come and go.
    pub(in crate::mcp) async fn follow_own(&self, asker: &Asker, peer: &Peer<RoleServer>) {
        let Some(session) = asker.own_session() else { return };
        let mut open = self.0.lock().await;
        if let Some(watch) = open.get(&place(&session)) {
            lock(&watch.wanted).lists = true;
            return;
        }
        let wanted = Wanted { lists: true, ..Wanted::default() };
        match Watch::start(asker, peer, session.clone(), wanted).await {
            Ok(watch) => {
                open.insert(place(&session), watch);
            }
            Err(error) => tracing::debug!(%error, "an MCP session does not follow its own session"),
        }
    }
}

impl Watch {
    async fn start(
        asker: &Asker,
        peer: &Peer<RoleServer>,
        session: SessionRef,
        wanted: Wanted,
    ) -> service::Result<Self> {
        let stream = stream_of(asker, session).await?;
        let wanted = Arc::new(Mutex::new(wanted));
        let task = tokio::spawn(follow(stream, wanted.clone(), Listener::Session(peer.clone())));
        Ok(Self { wanted, task })
    }
}
