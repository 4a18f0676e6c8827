//! Small servers to compare the product with: a fixed answer, and the plainest event streams that axum makes.
//! They run as processes of their own and speak the product's paths, so that one load generator drives both.

use anyhow::Result;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use futures_util::stream;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

#[derive(clap::Args)]
pub(crate) struct StaticRoute {
    #[arg(long)]
    listen: SocketAddr,
    /// A file with what every POST is answered with
    #[arg(long)]
    answer: PathBuf,
    /// Another for conversations that end with what a tool brought
    #[arg(long)]
    after_tool: Option<PathBuf>,
    #[arg(long, default_value = "/sessions/{session}/shared_context")]
    path: String,
    #[arg(long, default_value = "application/json")]
    content_type: String,
    /// How long every answer takes
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
}

impl StaticRoute {
    pub(crate) fn run(self) -> Result<()> {
        let answer = Bytes::from(std::fs::read(self.answer)?);
        let after_tool = self.after_tool.map(std::fs::read).transpose()?.map(Bytes::from);
        let fixed = move |request: Bytes| {
            let other = after_tool.as_ref().filter(|_| ends_with_tool(&request));
            let answer = other.unwrap_or(&answer).clone();
            let content_type = self.content_type.clone();
            async move {
                if self.delay_ms > 0 {
                    tokio::time::sleep(Duration::from_millis(self.delay_ms)).await;
                }
                ([(CONTENT_TYPE, content_type)], answer)
            }
        };
        serve(self.listen, Router::new().route(&self.path, post(fixed)))
    }
}

/// By the last words only: what a person says next comes after what tools brought before.
fn ends_with_tool(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    text.rfind(r#""role":"tool""#) > text.rfind(r#""role":"user""#)
}

#[derive(clap::Args)]
pub(crate) struct NaiveStreams {
    #[arg(long)]
    listen: SocketAddr,
}

impl NaiveStreams {
    pub(crate) fn run(self) -> Result<()> {
        let router = Router::new()
            .route("/sessions/{session}/events", get(listen))
            .route("/sessions/{session}/shared_context", post(tell))
            .with_state(Listeners::default());
        serve(self.listen, router)
    }
}

/// Serves a router, and `/health`, until SIGTERM.
pub(crate) fn serve(address: SocketAddr, router: Router) -> Result<()> {
    let router = router.route("/health", get(|| async { "ok" }));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?.tap_io(|stream| {
            // A socket that refuses is gone already; serving it will tell.
            let _ = stream.set_nodelay(true);
        });
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            ended = async { axum::serve(listener, router).await } => Ok(ended?),
            _ = terminate.recv() => Ok(()),
        }
    })
}

#[derive(Default, Clone)]
struct Listeners(Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>>);

async fn listen(State(listeners): State<Listeners>) -> impl IntoResponse {
    let (sender, mut inbox) = mpsc::unbounded_channel::<String>();
    listeners.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
    let event = |data| Ok::<_, Infallible>(Event::default().event("CONTEXT_WRITTEN").data(data));
    Sse::new(stream::poll_fn(move |context| inbox.poll_recv(context).map(|data| data.map(event))))
        .keep_alive(KeepAlive::default())
}

/// Answers first and tells afterwards, as the product acknowledges a write before its event has gone to everybody.
async fn tell(State(listeners): State<Listeners>, Json(write): Json<serde_json::Value>) -> Json<serde_json::Value> {
    let data = serde_json::json!({"type": "CONTEXT_WRITTEN", "key": write["key"], "version": 1}).to_string();
    tokio::spawn(async move {
        let mut inboxes = listeners.0.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.retain(|inbox| inbox.send(data.clone()).is_ok());
    });
    Json(serde_json::json!({"key": write["key"], "version": 1}))
}
