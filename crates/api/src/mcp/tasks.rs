//! Calls on people's machines as tasks, an extension of MCP since 2026-07-28, for clients that say they know it. The call's row
//! is the task and its id the task's, so a task outlives connections and restarts, and is seen by whom the call is seen.

use super::answers::protocol_error;
use super::askers::Asker;
use super::is_stateless;
use super::node_tools::{outcome, standing_of};
use axum::http::request::Parts;
use domain::tool_calls::{CallStatus, ToolCall};
use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, Task, TaskPayload, TaskStatus};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use service::tool_calls;

const POLLED_EVERY_MS: u64 = 2_000;

/// Whether a client could do something with a task.
pub(super) fn are_known_to(asked: &RequestContext<RoleServer>) -> bool {
    let is_new = asked.extensions.get::<Parts>().is_some_and(is_stateless);
    is_new && asked.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// The answer to a call that goes on as a task.
pub(super) fn begun(call: &ToolCall) -> CreateTaskResult {
    CreateTaskResult::new(task(call))
}

/// A person who has to agree is no input that the client could give: until the end a task is at work.
fn task(call: &ToolCall) -> Task {
    let text = |time| match serde_json::to_value(time) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    };
    let (begun, ended) = (call.times.created_at, call.times.ended_at);
    Task::new(call.id.as_str(), TaskStatus::Working, text(begun), text(ended.unwrap_or(begun)))
        .with_status_message(standing_of(call))
        .with_poll_interval_ms(POLLED_EVERY_MS)
}

pub(super) async fn get(asker: &Asker, id: &str) -> Result<GetTaskResult, ErrorData> {
    let (_, call) = tool_calls::get_own(&asker.ctx, id).await.map_err(protocol_error)?;
    let task = task(&call);
    let payload = match call.status {
        status if !status.has_ended() => TaskPayload::Working,
        CallStatus::Cancelled => TaskPayload::Cancelled,
        _ => match serde_json::to_value(outcome(call)) {
            Ok(Value::Object(result)) => TaskPayload::Completed { result },
            _ => return Err(ErrorData::internal_error("the outcome could not be written down", None)),
        },
    };
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// Nothing is ever asked of the client, so whatever it answers is to nothing.
pub(super) async fn update(asker: &Asker, id: &str) -> Result<(), ErrorData> {
    tool_calls::get_own(&asker.ctx, id).await.map_err(protocol_error)?;
    Ok(())
}

/// What has begun goes on to its end; `tasks/get` tells which it was.
pub(super) async fn cancel(asker: &Asker, id: &str) -> Result<(), ErrorData> {
    let (proposed, _) = tool_calls::get_own(&asker.ctx, id).await.map_err(protocol_error)?;
    tool_calls::withdraw(&asker.ctx, &proposed).await.map_err(protocol_error)
}
