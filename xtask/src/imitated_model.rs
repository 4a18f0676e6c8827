//! A chat-completions endpoint that stands in for a model, so that the example of own loops runs without one.
//!
//! It reads each conversation as a provider would (`conversation`), refuses what is malformed, and decides from what it
//! was told and what its calls brought (`habits`). Whatever it had to refuse makes it end badly, even if the client
//! went on. It streams nothing and knows nothing of Longhouse but the tool it is offered.

mod conversation;
mod habits;

use crate::peers;
use anyhow::{Context, Result, bail};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use conversation::Conversation;
use habits::{Decision, RESEARCH, WRITER};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Barrier, Notify};

pub(crate) const API_KEY: &str = "sk-imitation";

const PATIENCE: Duration = Duration::from_secs(20);
/// How much slower research is than writing: long enough that a writer who does not wait for it is found out.
const RESEARCH_TAKES: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub(crate) struct ImitatedModel {
    #[arg(long)]
    listen: SocketAddr,
}

impl ImitatedModel {
    pub(crate) fn run(self) -> Result<()> {
        let imitation = Arc::new(Imitation::default());
        let router = Router::new().route("/v1/chat/completions", post(complete)).with_state(imitation.clone());
        peers::serve(self.listen, router)?;
        let complaints = locked(&imitation.complaints);
        if !complaints.is_empty() {
            bail!("the client did wrong:\n{}", complaints.join("\n"));
        }
        Ok(())
    }
}

#[derive(Default)]
struct Imitation {
    scenes: Mutex<HashMap<String, Arc<Scene>>>,
    complaints: Mutex<Vec<String>>,
}

/// What happens in one session.
struct Scene {
    requests: Mutex<u64>,
    /// The calls that were asked for, by their ids.
    calls: Mutex<HashMap<String, Value>>,
    subagents: Barrier,
    outlined: Notify,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn complete(State(imitation): State<Arc<Imitation>>, headers: HeaderMap, body: String) -> Response {
    let key = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if key != format!("Bearer {API_KEY}") {
        return refused(StatusCode::UNAUTHORIZED, "the API key is wrong");
    }
    match imitation.answer(&body).await {
        Ok(response) => response,
        Err(complaint) => {
            let complaint = format!("{complaint:#}");
            locked(&imitation.complaints).push(complaint.clone());
            refused(StatusCode::BAD_REQUEST, &complaint)
        }
    }
}

fn refused(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({"error": {"message": message, "type": "invalid_request_error"}}))).into_response()
}

impl Imitation {
    async fn answer(&self, body: &str) -> Result<Response> {
        let request: Value = serde_json::from_str(body)?;
        let conversation = Conversation::read(&request)?;
        let scene = self.scene(&conversation.session);
        conversation.check_echo(&locked(&scene.calls))?;
        // A provider has bad moments, too; both pass.
        match scene.number_of_request() {
            1 => {
                let refused = refused(StatusCode::TOO_MANY_REQUESTS, "too many requests");
                return Ok(([(header::RETRY_AFTER, "0")], refused).into_response());
            }
            2 => return Ok(refused(StatusCode::SERVICE_UNAVAILABLE, "overloaded")),
            _ => {}
        }
        let decision = habits::decide(&conversation)?;
        scene.keep_time(&conversation, &decision).await?;
        Ok(Json(scene.completion(decision)).into_response())
    }

    fn scene(&self, session: &str) -> Arc<Scene> {
        let new = || {
            let (requests, calls) = (Mutex::default(), Mutex::default());
            Arc::new(Scene { requests, calls, subagents: Barrier::new(2), outlined: Notify::new() })
        };
        locked(&self.scenes).entry(session.to_owned()).or_insert_with(new).clone()
    }
}

impl Scene {
    fn number_of_request(&self) -> u64 {
        let mut requests = locked(&self.requests);
        *requests += 1;
        *requests
    }

    /// Subagents that take turns never meet; a writer that does not wait for the findings comes too early.
    async fn keep_time(&self, conversation: &Conversation, decision: &Decision) -> Result<()> {
        let participant = conversation.participant.as_str();
        if [RESEARCH, WRITER].contains(&participant) && conversation.is_new() {
            let met = tokio::time::timeout(PATIENCE, self.subagents.wait()).await;
            met.with_context(|| format!("{participant} works alone: the subagents are to work at the same time"))?;
        }
        match (participant, decision) {
            (WRITER, Decision::Say(_)) => self.outlined.notify_one(),
            (RESEARCH, decision) if decision.writes(habits::FINDINGS) => {
                let outlined = tokio::time::timeout(PATIENCE, self.outlined.notified()).await;
                outlined.with_context(|| format!("{WRITER} made no outline while {RESEARCH} was at work"))?;
                tokio::time::sleep(RESEARCH_TAKES).await;
            }
            _ => {}
        }
        Ok(())
    }

    fn completion(&self, decision: Decision) -> Value {
        let (message, reason) = match decision {
            Decision::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
            Decision::Call(wanted) => {
                let mut calls = locked(&self.calls);
                let calls = wanted.into_iter().map(|(name, arguments)| {
                    let id = format!("call_{}", calls.len() + 1);
                    let call =
                        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
                    calls.insert(id, call.clone());
                    call
                });
                let calls: Vec<Value> = calls.collect();
                (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
            }
        };
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        json!({"id": "chatcmpl-imitation", "object": "chat.completion", "created": 0, "model": "imitation", "choices": [choice]})
    }
}
