//! Carries messages: each line to the door, each answer and each piece of news back.
//!
//! Messages are handed over in the order in which they came. The next waits until the one before is answered, so that a
//! read does not overtake a write, but not for long, so that a slow call does not hold up the rest.

use super::legacy::{self, Legacy};
use super::lines::Output;
use super::link::Link;
use super::messages::{INVALID_REQUEST, Message, Session, UNAVAILABLE, answers, as_answer, error};
use crate::client::events::Events;
use crate::output::chain;
use crate::stdin::Line;
use axum::body::Body;
use axum::http::{Method, Response, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

const HEAD_START: Duration = Duration::from_secs(1);
/// Nothing makes sense before it.
const INITIALIZE_WITHIN: Duration = Duration::from_secs(30);
/// What was asked before the input ended is still answered.
const FINISH_WITHIN: Duration = Duration::from_secs(10);
const GOODBYE_WITHIN: Duration = Duration::from_secs(2);
const ASKS_MOST: usize = 256;
const LISTEN: &str = "subscriptions/listen";

/// What every message under way needs.
pub(super) struct Shared {
    pub(super) link: Link,
    pub(super) output: Output,
    pub(super) legacy: Legacy,
}

pub(super) struct Bridge(Arc<Shared>);

/// Requests that are not answered yet.
#[derive(Default)]
struct Asks {
    tasks: JoinSet<String>,
    by_id: HashMap<String, (AbortHandle, Message)>,
}

impl Asks {
    fn forget_answered(&mut self) {
        while let Some(done) = self.tasks.try_join_next() {
            if let Ok(id) = done {
                self.by_id.remove(&id);
            }
        }
    }

    fn stop(&mut self, id: &str) {
        if let Some((task, _)) = self.by_id.remove(id) {
            task.abort();
        }
    }

    /// Waits for what can still be answered; a subscription ends with the input.
    async fn finish(mut self) {
        for (task, message) in self.by_id.values() {
            if message.method() == LISTEN {
                task.abort();
            }
        }
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(FINISH_WITHIN, all).await;
    }
}

impl Bridge {
    pub(super) fn new(link: Link) -> Self {
        Self(Arc::new(Shared { link, output: Output::to_stdout(), legacy: Legacy::default() }))
    }

    /// Carries until the input ends or nobody reads the output any more.
    pub(super) async fn carry(&self, mut lines: mpsc::Receiver<Line>) {
        let mut asks = Asks::default();
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                () = self.0.output.closed() => return,
            };
            asks.forget_answered();
            match line {
                Some(Line::Text(text)) if text.trim().is_empty() => {}
                Some(Line::Text(text)) => self.take(&text, &mut asks).await,
                Some(Line::Unreadable) => {
                    let why = "this line is not text, or longer than a message may be (1 MiB)";
                    self.0.output.line(error(&Value::Null, INVALID_REQUEST, why, None)).await;
                }
                None => return asks.finish().await,
            }
        }
    }

    async fn take(&self, text: &str, asks: &mut Asks) {
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err((code, why)) => return self.0.output.line(error(&Value::Null, code, why, None)).await,
        };
        if message.method() == "notifications/cancelled" {
            asks.stop(&message.param("requestId").to_string());
        }
        match message.request_id().cloned() {
            Some(id) if asks.tasks.len() >= ASKS_MOST => {
                let why = "too many requests at once: wait for some answers first";
                self.0.output.line(error(&id, UNAVAILABLE, why, None)).await;
            }
            Some(id) => self.begin(id, message, asks).await,
            // It goes on by itself: a word that takes longer is not taken back.
            None => {
                let shared = self.0.clone();
                let _ = timeout(HEAD_START, tokio::spawn(async move { shared.tell(&message).await })).await;
            }
        }
    }

    async fn begin(&self, id: Value, message: Message, asks: &mut Asks) {
        let (begun, head) = oneshot::channel();
        let patience = if message.method() == "initialize" { INITIALIZE_WITHIN } else { HEAD_START };
        let (shared, asked, key) = (self.0.clone(), message.clone(), id.to_string());
        let name = key.clone();
        let task = asks.tasks.spawn(async move {
            shared.ask(&id, &asked, begun).await;
            name
        });
        asks.by_id.insert(key, (task, message));
        let _ = timeout(patience, head).await;
    }

    pub(super) async fn close(self) {
        let goodbye = async {
            if let Some(session) = self.0.legacy.end().await {
                let _ = self.0.link.send(|| session.to_request(Method::DELETE, None)).await;
            }
        };
        let _ = timeout(GOODBYE_WITHIN, goodbye).await;
        let _ = timeout(GOODBYE_WITHIN, self.0.output.flush()).await;
        self.0.link.close().await;
    }
}

impl Shared {
    /// Asks the door and writes what it answers, whatever that is: a request is always answered.
    async fn ask(&self, id: &Value, message: &Message, begun: oneshot::Sender<()>) {
        let mut session = self.session_for(message).await;
        let mut revived = false;
        loop {
            let response = match self.link.send(|| message.to_request(session.as_ref())).await {
                Ok(response) => response,
                Err(why) => return self.fail(id, &format!("the server cannot be reached: {}", chain(&why))).await,
            };
            // The server does not know the session any more. It has done nothing, so it can be asked again.
            if let (StatusCode::NOT_FOUND, Some(lost), false) = (response.status(), &session, revived) {
                revived = true;
                match legacy::revive(self, lost).await {
                    Ok(new) => session = Some(new),
                    Err(why) => return self.fail(id, &format!("the MCP session was lost: {}", chain(&why))).await,
                }
                continue;
            }
            let head = response.headers().clone();
            // A subscription is answered when it ends; it has begun when the first of its messages comes.
            let mut begun = Some(begun);
            if message.method() == LISTEN {
                begun.take().map(|begun| begun.send(()));
            }
            let answer = self.forward(id, response).await;
            match message.method() {
                "initialize" => self.legacy.begin(message, &head, &answer).await,
                _ => self.legacy.note(message, &answer).await,
            }
            begun.map(|begun| begun.send(()));
            return;
        }
    }

    async fn session_for(&self, message: &Message) -> Option<Session> {
        let stands_alone = message.own_version().is_some() || message.method() == "initialize";
        if stands_alone { None } else { self.legacy.session().await }
    }

    /// A notification, or an answer to the server. Only a session has somebody to tell.
    async fn tell(self: Arc<Self>, message: &Message) {
        let Some(session) = self.legacy.session().await else { return };
        if let Err(why) = self.link.send(|| message.to_request(Some(&session))).await {
            tracing::warn!(error = %chain(&why), "a notification did not reach the server");
        }
        if message.method() == "notifications/initialized" {
            legacy::follow(&self).await;
        }
    }

    async fn fail(&self, id: &Value, why: &str) {
        self.output.line(error(id, UNAVAILABLE, why, None)).await;
    }

    /// Writes a response's messages; gives the one that was the answer.
    async fn forward(&self, id: &Value, response: Response<Body>) -> Value {
        let status = response.status();
        if is_stream(&response) {
            let mut events = Events::new(response.into_body());
            while let Some(event) = events.next().await {
                let Ok(value) = serde_json::from_str::<Value>(&event.data) else { continue };
                self.output.line(value.to_string()).await;
                if answers(&value, id) {
                    return value;
                }
            }
            self.fail(id, "the server went away before it answered: ask again").await;
            return Value::Null;
        }
        match response.into_body().collect().await {
            Ok(body) => {
                let text = as_answer(id, status, &body.to_bytes());
                self.output.line(text.clone()).await;
                serde_json::from_str(&text).unwrap_or(Value::Null)
            }
            Err(_) => {
                self.fail(id, "the server went away while it answered: ask again").await;
                Value::Null
            }
        }
    }
}

pub(super) fn is_stream(response: &Response<Body>) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
