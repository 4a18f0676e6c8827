//! The session of a client that speaks a version before 2026-07-28: its stream, and how it is made anew when a server
//! that was restarted no longer knows it.

use super::bridge::{Shared, is_stream};
use super::messages::{Message, SESSION, Session, answers};
use crate::client::events::Events;
use anyhow::{Context, Result, bail};
use axum::body::Body;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

const PAUSE: Duration = Duration::from_millis(500);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[derive(Default)]
pub(super) struct Legacy(Mutex<Option<Open>>);

struct Open {
    session: Session,
    /// How it began, to begin again.
    initialize: Message,
    /// Requests for what is subscribed to, by address.
    subscriptions: BTreeMap<String, Message>,
    stream: Option<JoinHandle<()>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            stream.abort();
        }
    }
}

impl Legacy {
    pub(super) async fn session(&self) -> Option<Session> {
        self.0.lock().await.as_ref().map(|open| open.session.clone())
    }

    /// The client's own `initialize` was answered.
    pub(super) async fn begin(&self, initialize: &Message, head: &HeaderMap, answer: &Value) {
        if let Some(session) = session_in(head, answer) {
            let open = Open { session, initialize: initialize.clone(), subscriptions: BTreeMap::new(), stream: None };
            *self.0.lock().await = Some(open);
        }
    }

    /// Remembers what is subscribed to.
    pub(super) async fn note(&self, message: &Message, answer: &Value) {
        let (Some(uri), Some(_)) = (message.param("uri").as_str(), answer.get("result")) else { return };
        if let Some(open) = self.0.lock().await.as_mut() {
            match message.method() {
                "resources/subscribe" => drop(open.subscriptions.insert(uri.to_owned(), message.clone())),
                "resources/unsubscribe" => drop(open.subscriptions.remove(uri)),
                _ => {}
            }
        }
    }

    pub(super) async fn end(&self) -> Option<Session> {
        self.0.lock().await.take().map(|open| open.session.clone())
    }
}

fn session_in(head: &HeaderMap, answer: &Value) -> Option<Session> {
    let id = head.get(SESSION)?.to_str().ok()?.to_owned();
    let version = answer["result"]["protocolVersion"].as_str()?.to_owned();
    Some(Session { id, version })
}

/// Begins a session anew in the place of a lost one, with all that was subscribed to.
pub(super) async fn revive(shared: &Shared, lost: &Session) -> Result<Session> {
    let mut legacy = shared.legacy.0.lock().await;
    let open = legacy.as_mut().context("it has ended")?;
    if open.session != *lost {
        return Ok(open.session.clone());
    }
    let response = shared.link.send(|| open.initialize.to_request(None)).await?;
    let head = response.headers().clone();
    let id = open.initialize.request_id().cloned().unwrap_or(Value::Null);
    let answer = answer_in(response, &id).await;
    let session = session_in(&head, &answer).context("the server does not begin another")?;
    let messages = Message::parse(INITIALIZED).into_iter().chain(open.subscriptions.values().cloned());
    for message in messages {
        let response = shared.link.send(|| message.to_request(Some(&session))).await?;
        if !response.status().is_success() {
            bail!("the server does not take up what was subscribed to");
        }
        if let Some(id) = message.request_id() {
            answer_in(response, id).await;
        }
    }
    open.session = session.clone();
    // Nobody knows what happened in between: whoever subscribed has to look.
    for uri in open.subscriptions.keys() {
        let news = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
        shared.output.line(news.to_string()).await;
    }
    let lists = json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"});
    shared.output.line(lists.to_string()).await;
    Ok(session)
}

async fn answer_in(response: Response<Body>, id: &Value) -> Value {
    if !is_stream(&response) {
        return Value::Null;
    }
    let mut events = Events::new(response.into_body());
    while let Some(event) = events.next().await {
        if let Ok(value) = serde_json::from_str::<Value>(&event.data)
            && answers(&value, id)
        {
            return value;
        }
    }
    Value::Null
}

/// Follows the session's stream from now on.
pub(super) async fn follow(shared: &Arc<Shared>) {
    if let Some(open) = shared.legacy.0.lock().await.as_mut()
        && open.stream.is_none()
    {
        open.stream = Some(tokio::spawn(stream(shared.clone())));
    }
}

/// Writes what the session's stream says, over as many connections as it takes.
async fn stream(shared: Arc<Shared>) {
    let mut last: Option<(Session, String)> = None;
    while let Some(session) = shared.legacy.session().await {
        let after = last.as_ref().filter(|(of, _)| *of == session).map(|(_, id)| id.as_str());
        match shared.link.send(|| session.to_request(Method::GET, after)).await {
            Ok(response) if is_stream(&response) => {
                let mut events = Events::new(response.into_body());
                while let Some(event) = events.next().await {
                    if let Some(id) = event.id {
                        last = Some((session.clone(), id));
                    }
                    if let Ok(value) = serde_json::from_str::<Value>(&event.data) {
                        shared.output.line(value.to_string()).await;
                    }
                }
            }
            Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                if let Err(error) = revive(&shared, &session).await {
                    tracing::warn!(error = %crate::output::chain(&error), "the MCP session was lost");
                }
            }
            // It will not say anything else tomorrow.
            Ok(response) if response.status().is_client_error() => return,
            Ok(_) | Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}
