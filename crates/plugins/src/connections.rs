//! One connection to a plugin, from the first word to the last, whichever way it is reached.

use crate::closings::Closing;
use crate::http::{Http, words_of};
use crate::lines::Lines;
use crate::options::Options;
use crate::outbound;
use crate::processes::{self, Process};
use crate::requests::House;
use crate::slots::Link;
use crate::stderr::{self, LastWords};
use crate::watched::{GONE, UNREAD, Unasked, Watched};
use domain::plugins::{PluginDeclaration, Reach, shown_text};
use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, Peer, RunningService, serve_client_with_lifecycle};
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What is shown of how a plugin calls itself.
const SERVER_SHOWN: usize = 128;

/// What is needed to reach a plugin.
pub(crate) struct Way<'a> {
    pub(crate) name: &'a str,
    pub(crate) declaration: &'a PluginDeclaration,
    pub(crate) options: &'a Options,
    pub(crate) last_words: &'a LastWords,
}

/// Dropped, it ends at once, and so does the plugin's program.
pub(crate) struct Connection {
    running: RunningService<RoleClient, House>,
    closing: Closing,
    pub(crate) tools_changed: Arc<Notify>,
    process: Option<Process>,
    /// What ends with it.
    _background: JoinSet<()>,
}

/// Why there is no connection.
enum Unopened {
    /// The plugin does not know this way to begin.
    OtherWay(String),
    Failed(String),
}

/// Begins as all versions of the protocol did, and with one that knows only the newest as that does.
pub(crate) async fn open(way: &Way<'_>) -> Result<Connection, String> {
    let newest = vec![ProtocolVersion::V_2026_07_28];
    match attempt(way, ClientLifecycleMode::Initialize).await {
        Ok(connection) => Ok(connection),
        Err(Unopened::Failed(why)) => Err(why),
        Err(Unopened::OtherWay(why)) => {
            attempt(way, ClientLifecycleMode::Discover { preferred_versions: newest }).await.map_err(|_| why)
        }
    }
}

async fn attempt(way: &Way<'_>, lifecycle: ClientLifecycleMode) -> Result<Connection, Unopened> {
    let (limits, rhythm) = (&way.options.limits, &way.options.rhythm);
    let (closing, unasked) = (Closing::new(), Unasked::new(limits.unasked_messages));
    let mut background = JoinSet::new();
    match &way.declaration.reach {
        Reach::Command(command) => {
            let started = processes::start(command, &way.declaration.environment, way.options, &closing);
            let started = started.map_err(Unopened::Failed)?;
            background.spawn(stderr::listen(way.name.to_owned(), started.stderr, way.last_words.clone()));
            let bounds = (limits.message_bytes, rhythm.write_within);
            let lines = Lines::new(started.streams, bounds, unasked.clone(), closing.clone());
            begin(lines, unasked, closing, lifecycle, background, Some(started.process)).await
        }
        Reach::Url(url) => {
            let (client, url) =
                outbound::configured_client(url).map_err(|error| Unopened::Failed(error.to_string()))?;
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let mut retry = FixedInterval::default();
            (retry.max_times, retry.duration) = (Some(2), Duration::from_millis(500));
            config.retry_config = Arc::new(retry);
            config.max_sse_event_size = limits.message_bytes;
            config.max_concurrent_requests = limits.calls_at_once + 1;
            // A call that is sent a second time could run a second time.
            config.reinit_on_expired_session = false;
            let http = Http { client, most: limits.message_bytes };
            let transport = StreamableHttpClientTransport::with_client(http, config);
            begin(transport, unasked, closing, lifecycle, background, None).await
        }
    }
}

async fn begin<T: Transport<RoleClient> + 'static>(
    transport: T,
    unasked: Unasked,
    closing: Closing,
    lifecycle: ClientLifecycleMode,
    mut background: JoinSet<()>,
    process: Option<Process>,
) -> Result<Connection, Unopened> {
    let tools_changed = Arc::new(Notify::new());
    let house = House { tools_changed: Arc::clone(&tools_changed) };
    let watched = Watched::new(transport, unasked, closing.clone());
    let running = match serve_client_with_lifecycle(house, watched, lifecycle).await {
        Ok(running) => running,
        Err(error) => return Err(unopened(&error, &closing, process).await),
    };
    if running.peer_info().is_some_and(|info| !info.protocol_version.has_initialize()) {
        background.spawn(subscribe(running.peer().clone(), Arc::clone(&tools_changed)));
    }
    Ok(Connection { running, closing, tools_changed, process, _background: background })
}

async fn unopened(error: &ClientInitializeError, closing: &Closing, process: Option<Process>) -> Unopened {
    if let ClientInitializeError::JsonRpcError(refusal) = error {
        return Unopened::OtherWay(format!("it refused to begin (code {})", refusal.code.0));
    }
    let words = match error {
        ClientInitializeError::ConnectionClosed(_) => GONE.to_owned(),
        ClientInitializeError::TransportError { error, .. } => words_of(error),
        _ => "it does not speak the protocol".to_owned(),
    };
    closing.close(words);
    Unopened::Failed(why_gone(closing, process).await)
}

/// Why it is gone: how its program ended says more than that nothing came any more.
async fn why_gone(closing: &Closing, process: Option<Process>) -> String {
    let why = closing.closed().await;
    let ended = match process {
        Some(process) => process.stop().await,
        None => None,
    };
    if matches!(why.as_str(), GONE | UNREAD) { ended.unwrap_or(why) } else { why }
}

/// The newest version tells of changes only those who asked for it.
async fn subscribe(peer: Peer<RoleClient>, tools_changed: Arc<Notify>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let Ok(mut subscription) = peer.listen(filter).await else { return };
    while let Ok(Some(_)) = subscription.next().await {
        tools_changed.notify_one();
    }
}

/// Whoever still has a link learns that it leads nowhere, however the connection went.
impl Drop for Connection {
    fn drop(&mut self) {
        self.closing.close("it is stopped");
    }
}

impl Connection {
    pub(crate) fn link(&self) -> Link {
        Link { peer: self.running.peer().clone(), closing: self.closing.clone() }
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    /// How the plugin calls itself.
    pub(crate) fn server(&self) -> Option<String> {
        let info = self.running.peer_info()?;
        let server = info.server_info.as_ref()?;
        Some(shown_text(&format!("{} {}", server.name, server.version), SERVER_SHOWN))
    }

    pub(crate) async fn closed(&self) -> String {
        self.closing.closed().await
    }

    /// Ends it in kindness, and tells why it ended: the reason that there was already, or this one.
    pub(crate) async fn close(mut self, why: &str, grace: Duration) -> String {
        self.closing.close(why);
        // Only now calls are told; and only now its input is closed, on which a well-behaved program ends.
        self.running.close_with_timeout(grace).await.ok();
        why_gone(&self.closing, self.process.take()).await
    }
}
