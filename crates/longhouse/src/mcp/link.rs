//! The way to the door. It outlives a server: what was never sent is sent again when there is one.

use crate::cli::{Mcp, Place};
use crate::client::{Client, Hosting, wire};
use anyhow::{Context, Result};
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long a message waits for a server that is just being restarted.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Link {
    place: Place,
    /// Who acts, where no token says so.
    seat: Vec<(HeaderName, HeaderValue)>,
    way: Mutex<Arc<Way>>,
    /// Whether a server was there: then it is waited for, and its place never taken.
    beside_server: AtomicBool,
}

struct Way {
    client: Client,
    /// No server ran: this process is one, for everybody on this machine, for as long as it lasts.
    hosting: Mutex<Option<Hosting>>,
}

impl Link {
    pub(super) async fn connect(place: &Place, options: &Mcp) -> Result<Self> {
        let local = if place.server.is_some() { None } else { Some(options) };
        let said = |pick: fn(&Mcp) -> Option<&String>| local.and_then(pick);
        let words = [
            ("x-longhouse-user", said(|options| options.user.as_ref())),
            ("x-longhouse-agent", said(|options| options.agent.as_ref())),
            ("x-longhouse-session", said(|options| options.session.as_ref())),
            ("x-longhouse-workspace", said(|options| options.workspace.as_ref())),
            ("x-longhouse-participant", said(|options| options.participant.as_ref())),
        ];
        let mut seat = Vec::new();
        for (name, value) in words {
            if let Some(value) = value {
                let value = HeaderValue::from_str(value).with_context(|| format!("`{value}` is not plain text"))?;
                seat.push((HeaderName::from_static(name), value));
            }
        }
        if local.is_some() && seat.is_empty() {
            seat.extend(wire::given_token(place)?.map(|token| (header::AUTHORIZATION, token)));
        }
        let way = Way::find(place).await?;
        let beside_server = AtomicBool::new(way.client.is_of_server().await);
        Ok(Self { place: place.clone(), seat, way: Mutex::new(Arc::new(way)), beside_server })
    }

    /// Whether this caller is let in at all.
    pub(super) async fn check(&self) -> Result<()> {
        let request = || {
            let mut request = Request::new(Body::empty());
            *request.uri_mut() = axum::http::Uri::from_static("/tools/schemas?format=mcp");
            request
        };
        let response = self.send(request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let bytes = response.into_body().collect().await?.to_bytes();
        Err(crate::client::refusal(status, &serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// Sends a request. If it could not even be handed over it is made and sent again for a while.
    pub(super) async fn send(&self, make: impl Fn() -> Request<Body>) -> Result<Response<Body>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let way = self.way.lock().await.clone();
            let mut request = make();
            request.headers_mut().insert(header::HOST, HeaderValue::from_static("localhost"));
            request.headers_mut().extend(self.seat.iter().cloned());
            match way.client.send(request).await {
                Err(error) if was_never_sent(&error) && Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                    self.find_another(&way).await?;
                }
                outcome => return outcome,
            }
        }
    }

    /// The one behind a socket has gone: there may be another. The place of another bridge is taken, a server's is not.
    async fn find_another(&self, lost: &Arc<Way>) -> Result<()> {
        if lost.client.is_remote() {
            return Ok(());
        }
        let mut way = self.way.lock().await;
        if !Arc::ptr_eq(&way, lost) {
            return Ok(());
        }
        if self.beside_server.load(Ordering::Relaxed) {
            if let Some(client) = Client::to_server_of(&self.place).await {
                *way = Arc::new(Way { client, hosting: Mutex::default() });
            }
            return Ok(());
        }
        let found = Way::find(&self.place).await?;
        self.beside_server.store(found.client.is_of_server().await, Ordering::Relaxed);
        *way = Arc::new(found);
        Ok(())
    }

    /// Puts everything on disk, if this process had the house open.
    pub(super) async fn close(&self) {
        let way = self.way.lock().await.clone();
        let hosting = way.hosting.lock().await.take();
        if let Some(hosting) = hosting {
            hosting.end().await;
        }
    }
}

fn was_never_sent(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    kinds.into_iter().any(|kind| matches!(kind, ConnectionRefused | NotFound))
}

impl Way {
    async fn find(place: &Place) -> Result<Self> {
        let client = Client::connect(place, false).await?;
        let hosting = Hosting::of(&client, place)?;
        Ok(Self { client, hosting: Mutex::new(hosting) })
    }
}
