//! Tools on people's machines and of plugins over MCP: which an agent is shown, and calls that may have to wait for a person.
//!
//! A call is proposed and moved as by every other door; here it is only waited for. Nobody agrees to anything through this
//! door: whoever speaks MCP is the agent, or a client that acts for it.

use super::answers::tool_result;
use super::askers::{Asker, text};
use super::sessions::Presence;
use super::tasks;
use super::tools::described;
use crate::messages::{WAIT_LONGEST_S, wait};
use axum::http::request::Parts;
use domain::node_tools::{CALL_STATUS, NodeTool};
use domain::tool_calls::{CallStatus, ToolCall, is_of_a_plugin, is_put_on_record};
use domain::{Code, Refusal, tool_schemas};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ProgressNotificationParam, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use service::standing::Standing;
use service::tool_calls::{self, OwnWish, PluginTool, Proposed};
use std::time::Duration;
use tokio::time::Instant;

/// Clients that hear nothing give a request up; a minute is usual.
const SILENT_LONGEST: Duration = Duration::from_secs(50);
const TOLD_EVERY: Duration = Duration::from_secs(15);
/// How long a call that can become a task may take to end without becoming one.
const TASK_AFTER: Duration = Duration::from_secs(3);

/// What the caller's agent may use on the machines of its person, and of plugins.
pub(super) async fn visible_to(asker: &Asker) -> service::Result<Vec<Tool>> {
    let reach = tool_calls::of_own_agent(&asker.ctx).await?;
    let of_plugins = tool_calls::plugin_tools_of_own_agent(&asker.ctx).await?;
    if reach.tools.is_empty() && of_plugins.is_empty() {
        return Ok(Vec::new());
    }
    let on_nodes = reach.tools.iter().map(|tool| on_node(*tool, &reach.nodes));
    Ok(on_nodes.chain(of_plugins.into_iter().map(of_plugin)).chain([status_tool()]).collect())
}

/// With the plugin's own schema, which has no room for words of ours.
fn of_plugin(tool: PluginTool) -> Tool {
    let asks = if tool.waits_for_a_person { " A person is asked first, and the call waits for them." } else { "" };
    let description = format!(
        "{}\n\nDone by the plugin `{}`.{asks} If the answer has a status that is no end, do not call again: ask \
         tool_call_status with the call_id.",
        tool.description, tool.plugin
    );
    // What it does is not known here: what is said of it holds for the worst.
    let about = ToolAnnotations::with_title(tool.name.clone()).read_only(false).destructive(true).idempotent(false);
    Tool::new(tool.name, description, tool.schema).with_annotations(about.open_world(true))
}

fn on_node(tool: NodeTool, nodes: &[String]) -> Tool {
    let mut schema = tool_schemas::node::of(tool);
    add(&mut schema.input, "wait_s", wait_property("50"));
    let addition = "\n\nThis is done on the person's own machine. The person may be asked first, and the call waits for \
        them. If status is waiting_approval or otherwise no end, do not call again: ask tool_call_status with the call_id.";
    tool_schemas::node::choose_among(&mut schema.input, nodes);
    described(schema, addition, about(tool))
}

fn status_tool() -> Tool {
    let mut schema = tool_schemas::node::call_status();
    add(&mut schema.input, "wait_s", wait_property("0"));
    described(schema, "", ToolAnnotations::with_title("Look after a call").read_only(true).open_world(false))
}

fn about(tool: NodeTool) -> ToolAnnotations {
    let titled = |title: &'static str| ToolAnnotations::with_title(title);
    let changes = |title| titled(title).read_only(false).destructive(true).idempotent(false);
    match tool {
        NodeTool::ReadFile => titled("Read a file").read_only(true).open_world(false),
        NodeTool::ListDirectory => titled("List a folder").read_only(true).open_world(false),
        NodeTool::WriteFile => changes("Write a file").open_world(false),
        NodeTool::EditFile => changes("Edit a file").open_world(false),
        NodeTool::DeleteFile => changes("Delete a file").open_world(false),
        // A workspace may grant it the network.
        NodeTool::ExecuteCommand => changes("Run a program").open_world(true),
    }
}

fn wait_property(default: &str) -> Value {
    let description = format!("How many seconds to wait for the end of the call. Default {default}.");
    json!({"type": "number", "minimum": 0, "maximum": WAIT_LONGEST_S, "description": description})
}

fn add(input: &mut Value, name: &str, property: Value) {
    input["properties"][name] = property;
}

pub(super) fn is_one(name: &str) -> bool {
    name == CALL_STATUS || is_put_on_record(name)
}

/// Calls one of them, or looks after a call.
pub(super) async fn call(
    asker: &Asker,
    asked: &RequestContext<RoleServer>,
    name: &str,
    arguments: Map<String, Value>,
) -> CallToolResponse {
    let outcome = if name == CALL_STATUS {
        look(asker, asked, arguments).await
    } else {
        make(asker, asked, name, arguments).await
    };
    outcome.unwrap_or_else(|error| tool_result(Err(error)).into())
}

async fn make(
    asker: &Asker,
    asked: &RequestContext<RoleServer>,
    name: &str,
    mut arguments: Map<String, Value>,
) -> service::Result<CallToolResponse> {
    // A plugin's tool may have arguments of these names.
    let (wanted, node) = match is_of_a_plugin(name) {
        true => (None, None),
        false => (patience(&mut arguments)?, text(&mut arguments, "node")?),
    };
    let wish = OwnWish { tool: name.to_owned(), params: arguments, node };
    let proposed = tool_calls::execute_as_own_agent(&asker.ctx, wish).await?;
    let wait = Wait { asker, asked, proposed };
    let takes_tasks = tasks::are_known_to(asked);
    let default = if takes_tasks { TASK_AFTER } else { SILENT_LONGEST };
    let waited = wait.at_most(wanted.unwrap_or(default)).await;
    // Whoever is told that something went wrong has to know that there is a call.
    let named = |error: service::Error| error.into_refusal().with("call_id", wait.proposed.call.as_str());
    let Some(call) = waited.map_err(named)? else {
        tool_calls::withdraw(&asker.ctx, &wait.proposed).await?;
        return Err(left(&wait.proposed).into());
    };
    if takes_tasks && !call.status.has_ended() {
        return Ok(tasks::begun(&call).into());
    }
    Ok(outcome(call).into())
}

async fn look(
    asker: &Asker,
    asked: &RequestContext<RoleServer>,
    mut arguments: Map<String, Value>,
) -> service::Result<CallToolResponse> {
    let wanted = patience(&mut arguments)?;
    let missing = || Refusal::invalid_field("call_id", "`call_id` is missing: the answer to the call has it");
    let id = text(&mut arguments, "call_id")?.ok_or_else(missing)?;
    if let Some(unknown) = arguments.keys().next() {
        return Err(Refusal::invalid_field(unknown, "there is no such argument").into());
    }
    let (proposed, _) = tool_calls::get_own(&asker.ctx, &id).await?;
    let wait = Wait { asker, asked, proposed };
    let call = wait.at_most(wanted.unwrap_or_default()).await?;
    Ok(outcome(call.ok_or_else(|| left(&wait.proposed))?).into())
}

/// How long the arguments say to wait, taken out of them.
fn patience(arguments: &mut Map<String, Value>) -> service::Result<Option<Duration>> {
    match arguments.remove("wait_s") {
        None => Ok(None),
        Some(Value::Number(seconds)) => Ok(Some(wait(&seconds).map_err(|failure| failure.0)?)),
        Some(_) => Err(Refusal::invalid_field("wait_s", "`wait_s` is a number of seconds").into()),
    }
}

/// What is said to somebody who has gone, or has to go.
fn left(proposed: &Proposed) -> Refusal {
    let message = "this can no longer be waited for: the house is closing, or the credential has ended";
    Refusal::new(Code::Unavailable, message).with("call_id", proposed.call.as_str())
}

/// A request that waits for a call.
struct Wait<'a> {
    asker: &'a Asker,
    asked: &'a RequestContext<RoleServer>,
    proposed: Proposed,
}

impl Wait<'_> {
    /// Waits for the end, as long as is wanted and the client can bear; `None` = the client has gone, or has to go.
    async fn at_most(&self, wanted: Duration) -> service::Result<Option<ToolCall>> {
        let is_told = self.asked.meta.get_progress_token().is_some();
        let longest = if is_told { wanted } else { wanted.min(SILENT_LONGEST) };
        let mut standing = Standing::new(&self.asker.ctx.house, self.asker.signed_in.clone());
        tokio::select! {
            call = self.follow(longest) => call.map(Some),
            () = self.asked.ct.cancelled() => Ok(None),
            () = self.client_gone() => Ok(None),
            () = standing.over() => Ok(None),
        }
    }

    /// To clients with a session the end of one connection is no end: they may come back on another. Those without are
    /// cancelled with theirs.
    async fn client_gone(&self) {
        let parts = self.asked.extensions.get::<Parts>();
        match parts.and_then(|parts| parts.extensions.get::<Presence>()) {
            Some(presence) => presence.over().await,
            None => std::future::pending().await,
        }
    }

    /// Says at each step, and often enough for clients that count the time since they last heard, what is waited for.
    async fn follow(&self, longest: Duration) -> service::Result<ToolCall> {
        let (ctx, until) = (&self.asker.ctx, Instant::now() + longest);
        let mut call = tool_calls::wait(ctx, &self.proposed, Duration::ZERO).await?;
        for count in 1.. {
            let left = until.saturating_duration_since(Instant::now());
            if call.status.has_ended() || left.is_zero() {
                break;
            }
            self.tell(&call, count).await;
            call = tool_calls::wait_for_change(ctx, &self.proposed, call.status, left.min(TOLD_EVERY)).await?;
        }
        Ok(call)
    }

    async fn tell(&self, call: &ToolCall, count: u32) {
        let Some(token) = self.asked.meta.get_progress_token() else { return };
        let progress = ProgressNotificationParam::new(token, f64::from(count)).with_message(standing_of(call));
        // Whoever does not hear it has gone, which is noticed elsewhere.
        let _ = self.asked.peer.notify_progress(progress).await;
    }
}

/// Where a call stands, in a line.
pub(super) fn standing_of(call: &ToolCall) -> String {
    let (id, status) = (call.id.as_str(), call.status.as_str());
    match &call.approval {
        Some(approval) if call.status == CallStatus::WaitingApproval => {
            format!("{status}: a person has to agree to {id} (approval {})", approval.as_str())
        }
        _ => format!("{status}: {id}"),
    }
}

/// What came of a call, or how it stands, in the words of HTTP. Only what was done and succeeded is no error; what has not
/// ended is none yet.
pub(super) fn outcome(call: ToolCall) -> CallToolResult {
    let (has_ended, is_completed) = (call.status.has_ended(), call.status == CallStatus::Completed);
    let next = match call.status {
        CallStatus::WaitingApproval => Some(
            "A person has to agree first; nothing was done yet. Do not ask for the same again: call tool_call_status with \
             this call_id, later or with wait_s.",
        ),
        _ if !has_ended => Some("It is under way: call tool_call_status with this call_id for its end."),
        _ => None,
    };
    let protocol::tool_calls::ToolCall {
        id, tool, status, node, approval_id, risk, result, reason, deadline_at, ..
    } = call.into();
    let succeeded = is_completed && result.as_ref().is_some_and(|result| result["success"] == true);
    let mut told = json!({
        "call_id": id, "tool": tool, "status": status, "node": node, "approval_id": approval_id, "risk": risk,
        "deadline_at": deadline_at, "result": result, "reason": reason, "next": next,
    });
    if let Some(told) = told.as_object_mut() {
        told.retain(|_, value| !value.is_null());
    }
    if succeeded || !has_ended { CallToolResult::structured(told) } else { CallToolResult::structured_error(told) }
}
