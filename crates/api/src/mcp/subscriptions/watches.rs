//! What an MCP session of a version before 2026-07-28 follows: one stream for each place it has subscribed in.

use super::{Listener, MOST, MOST_PLACES, Place, Wanted, follow, lock, stream_of};
use crate::mcp::answers::protocol_error;
use crate::mcp::askers::Asker;
use crate::mcp::resources::{Address, not_found};
use domain::{Code, Refusal};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
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
        let (place, key) = Place::of(asker, Address::parse(uri).ok_or_else(not_found)?);
        let mut open = self.0.lock().await;
        open.retain(|_, watch| !watch.task.is_finished());
        let count: usize = open.values().map(|watch| lock(&watch.wanted).keys.len()).sum();
        let known = open.get(&place);
        if count >= MOST || (known.is_none() && open.len() >= MOST_PLACES) {
            let message = format!("an MCP session has at most {MOST} subscriptions, in {MOST_PLACES} places");
            return Err(protocol_error(Refusal::new(Code::RateLimited, message).into()));
        }
        if let Some(watch) = known {
            lock(&watch.wanted).keys.insert(uri.to_owned(), key);
            return Ok(());
        }
        let wanted = Wanted { keys: HashMap::from([(uri.to_owned(), key)]), lists: false };
        let watch = Watch::start(asker, peer, place.clone(), wanted).await.map_err(protocol_error)?;
        open.insert(place, watch);
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

    /// Follows the caller's own session and items for keys that come and go.
    pub(in crate::mcp) async fn follow_own(&self, asker: &Asker, peer: &Peer<RoleServer>) {
        let mut open = self.0.lock().await;
        for place in Place::own(asker) {
            if let Some(watch) = open.get(&place) {
                lock(&watch.wanted).lists = true;
                continue;
            }
            let wanted = Wanted { lists: true, ..Wanted::default() };
            match Watch::start(asker, peer, place.clone(), wanted).await {
                Ok(watch) => {
                    open.insert(place, watch);
                }
                Err(error) => tracing::debug!(%error, "an MCP session does not follow its own lists"),
            }
        }
    }
}

impl Watch {
    async fn start(asker: &Asker, peer: &Peer<RoleServer>, place: Place, wanted: Wanted) -> service::Result<Self> {
        let stream = stream_of(asker, place).await?;
        let wanted = Arc::new(Mutex::new(wanted));
        let task = tokio::spawn(follow(stream, wanted.clone(), Listener::Session(peer.clone())));
        Ok(Self { wanted, task })
    }
}
