//! Messages over HTTP.

use crate::app::App;
use crate::bodies::Posted;
use crate::errors::Result;
use crate::paths::Segment;
use crate::query::{InWorkspace, PagedInWorkspace, Params};
use crate::signed::Signed;
use axum::Json;
use axum::http::StatusCode;
use domain::Refusal;
use protocol::errors::ErrorBody;
use protocol::messages::{Failure, MessageList, Reply, SendMessage, Sent, Usage};
use serde_json::Number;
use service::messages::{self, Accepted, Finished};
use service::paging::Page;
use service::sessions::SessionRef;
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) const WAIT_LONGEST_S: f64 = 600.0;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(send, history))
}

/// Say something to an agent of the session's project. With `wait_s` the answer comes when it is there.
#[utoipa::path(post, path = "/sessions/{session}/messages", tag = "messages", params(("session" = String, Path), InWorkspace),
    request_body = SendMessage,
    responses((status = 200, body = Sent, description = "It has ended"), (status = 202, body = Sent, description = "It is queued"),
        (status = 402, body = ErrorBody, description = "BUDGET_EXCEEDED"),
        (status = 404, body = ErrorBody, description = "SESSION_NOT_FOUND, AGENT_NOT_FOUND"),
        (status = 503, body = ErrorBody, description = "QUEUE_FULL")))]
async fn send(
    Segment(session): Segment,
    Params(query): Params<InWorkspace>,
    Posted { ctx, input }: Posted<SendMessage>,
) -> Result<(StatusCode, Json<Sent>)> {
    let wait = input.wait_s.as_ref().map(wait).transpose()?;
    let message = messages::SendMessage {
        content: input.content,
        target_agent: input.target_agent,
        priority: input.priority.unwrap_or_default(),
    };
    let accepted = messages::send(&ctx, SessionRef::parse(&session, query.workspace)?, message).await?;
    let finished = match wait {
        Some(wait) => messages::wait(&ctx, &accepted, wait).await?,
        None => None,
    };
    let status = if finished.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(render(&accepted, finished))))
}

pub(crate) fn wait(seconds: &Number) -> Result<Duration> {
    let seconds = seconds.as_f64().filter(|seconds| (0.0..=WAIT_LONGEST_S).contains(seconds));
    let refusal = || Refusal::invalid_field("wait_s", "`wait_s` is from 0 to 600 seconds");
    Ok(Duration::from_secs_f64(seconds.ok_or_else(refusal)?))
}

fn render(accepted: &Accepted, finished: Option<Finished>) -> Sent {
    let sent = Sent {
        message_id: accepted.message.as_str().to_owned(),
        mode: "direct".to_owned(),
        task_id: Some(accepted.task.as_str().to_owned()),
        status: None,
        reply: None,
        error: None,
    };
    let Some(finished) = finished else { return sent };
    let (status, reply, error) = replied(finished);
    Sent { status: Some(status), reply, error, ..sent }
}

/// How a turn ended: its status, the answer, or why there is none.
pub(crate) fn replied(finished: Finished) -> (String, Option<Reply>, Option<Failure>) {
    let Finished { task, reply, usage, cost } = finished;
    let usage = Usage::new(usage, cost);
    let agent = task.agent.name;
    let reply = reply.filter(|message| message.error.is_none()).and_then(|message| {
        let made_by = message.made_by?;
        Some(Reply {
            message_id: message.id.as_str().to_owned(),
            content: message.content,
            agent,
            model: made_by.model,
            usage,
            truncated: made_by.truncated,
        })
    });
    (task.status.as_str().to_owned(), reply, task.error.map(Into::into))
}

/// What was said in a session, oldest first.
#[utoipa::path(get, path = "/sessions/{session}/messages", tag = "messages", params(("session" = String, Path), PagedInWorkspace),
    responses((status = 200, body = MessageList), (status = 404, body = ErrorBody, description = "SESSION_NOT_FOUND")))]
async fn history(
    Signed { ctx, .. }: Signed,
    Segment(session): Segment,
    Params(query): Params<PagedInWorkspace>,
) -> Result<Json<MessageList>> {
    let page = Page { limit: query.limit, cursor: query.cursor };
    let listed = messages::history(&ctx, SessionRef::parse(&session, query.workspace)?, page).await?;
    let items = listed.items.into_iter().map(Into::into).collect();
    Ok(Json(MessageList { items, next_cursor: listed.next_cursor }))
}
