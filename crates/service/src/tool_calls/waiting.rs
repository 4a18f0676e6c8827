//! Waiting for the end of a call.

use super::{Get, Proposed};
use crate::projects::ProjectRef;
use crate::{Ctx, Result};
use domain::events::{EventKind, StreamId};
use domain::tool_calls::{CallStatus, ToolCall};
use std::time::Duration;
use store::News;

/// Waits until the call has ended, or for so long; gives it as it stands then.
pub async fn wait(ctx: &Ctx, proposed: &Proposed, longest: Duration) -> Result<ToolCall> {
    wait_until(ctx, proposed, longest, |call| call.status.has_ended()).await
}

/// Waits until the call stands otherwise than it was seen, or for so long.
pub async fn wait_for_change(ctx: &Ctx, proposed: &Proposed, seen: CallStatus, longest: Duration) -> Result<ToolCall> {
    wait_until(ctx, proposed, longest, |call| call.status != seen).await
}

/// The same for whoever has no use for waiting for a person.
pub(crate) async fn wait_for_progress(ctx: &Ctx, proposed: &Proposed, longest: Duration) -> Result<ToolCall> {
    let is_enough = |call: &ToolCall| call.status.has_ended() || call.status == CallStatus::WaitingApproval;
    wait_until(ctx, proposed, longest, is_enough).await
}

async fn wait_until(
    ctx: &Ctx,
    proposed: &Proposed,
    longest: Duration,
    is_enough: impl Fn(&ToolCall) -> bool,
) -> Result<ToolCall> {
    let look = || async {
        let project = ProjectRef {
            id_or_name: proposed.project.as_str().to_owned(),
            workspace: Some(proposed.workspace.as_str().to_owned()),
        };
        let get = Get { caller: ctx.caller.clone(), project, id: proposed.call.clone() };
        Ok::<_, crate::Error>(ctx.house.store().read(get).await?.1)
    };
    let first = look().await?;
    let stream = first.origin.session.as_ref().map_or_else(StreamId::of_workspace, StreamId::of_session);
    // Watched before the row is looked at again, so that nothing falls in between.
    let mut watch = ctx.house.store().watch(&proposed.workspace, &stream);
    let ended = async {
        loop {
            let call = look().await?;
            if is_enough(&call) {
                return Ok(call);
            }
            loop {
                match watch.next().await {
                    News::Event(event) if tells_of(&event.kind, &event.data, proposed) => break,
                    News::Missed => break,
                    News::Event(_) | News::Whisper(_) => {}
                }
            }
        }
    };
    let mut closing = ctx.house.authority().watch();
    let waited = tokio::select! {
        outcome = tokio::time::timeout(longest, ended) => outcome.ok(),
        // A house that closes lets its callers go; what was taken in is on disk.
        () = async { while closing.changed().await.is_ok() && !ctx.house.authority().is_closing() {} } => None,
    };
    match waited {
        Some(outcome) => outcome,
        None => look().await,
    }
}

/// Whether an event is about this call; a look too many does no harm.
fn tells_of(kind: &str, data: &str, proposed: &Proposed) -> bool {
    kind == EventKind::ToolCallUpdated.as_str() && data.contains(proposed.call.as_str())
}
