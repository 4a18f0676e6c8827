//! Calls that are put on record: on a person's machine, or of a plugin. A turn waits a moment for what needs no person; for anything else it is parked, and
//! finds the outcome when it begins again.

use super::Host;
use super::tools::refused;
use crate::tool_calls::{self, Proposed};
use crate::{Ctx, Error, Result};
use agent::{Called, ProposedCall};
use domain::ids::TaskId;
use domain::tool_calls::{CallStatus, ToolCall, Waiter, is_of_a_plugin};
use serde_json::{Value, json};
use std::time::Duration;
use store::{Operation, Tx};

/// Parking costs more than a read of a file.
const PATIENCE: Duration = Duration::from_secs(2);

impl Host {
    pub(super) async fn make_on_record(&self, ctx: &Ctx, call: &ProposedCall) -> Result<Called> {
        let made = Made { place: self.workspace.clone(), task: self.task.id.clone(), call: call.id.clone() };
        let proposed = match self.house.store().read(made).await? {
            Some(known) => self.known(known),
            None => match self.propose(ctx, call).await {
                Ok(proposed) => proposed,
                Err(Error::Refused(refusal)) => {
                    self.figures().tool_refused();
                    return Ok(Called::Answered { content: refused(&refusal), is_error: true });
                }
                Err(error) => return Err(error),
            },
        };
        let outcome = tool_calls::wait_for_progress(ctx, &proposed, PATIENCE).await?;
        Ok(told(&outcome))
    }

    fn known(&self, call: ToolCall) -> Proposed {
        Proposed { workspace: self.workspace.clone(), project: call.origin.project, call: call.id }
    }

    async fn propose(&self, ctx: &Ctx, call: &ProposedCall) -> Result<Proposed> {
        let mut params = call.arguments.clone();
        // Not for the tool: what is shown, approved and done has its own arguments only. A plugin's tool may have one of this name.
        let node = if is_of_a_plugin(&call.tool) { None } else { params.remove("node") };
        let node = node.map(|node| node.as_str().map_or_else(|| node.to_string(), str::to_owned));
        let input = tool_calls::Execute {
            agent: self.agent.id.as_str().to_owned(),
            session: Some(self.task.session.as_str().to_owned()),
            tool: call.tool.clone(),
            params,
            node,
        };
        let waiter = Waiter { task: self.task.id.clone(), call: call.id.clone() };
        tool_calls::execute_for(ctx, (&self.workspace, &self.task.project), input, waiter).await
    }
}

/// What a model is told of a call.
fn told(call: &ToolCall) -> Called {
    if !call.status.has_ended() {
        return Called::Waits;
    }
    let Some(result) = call.outcome.result.clone() else {
        let reason = call.outcome.reason.as_ref();
        let content = json!({"status": call.status, "error": reason}).to_string();
        return Called::Answered { content, is_error: true };
    };
    let parsed: Value = serde_json::from_str(&result).unwrap_or(Value::Null);
    let is_error = call.status != CallStatus::Completed || parsed["success"] == false;
    Called::Answered { content: result, is_error }
}

/// The call that this turn has made already for a call of its model.
struct Made {
    place: domain::ids::WorkspaceId,
    task: TaskId,
    call: String,
}

impl Operation for Made {
    type Output = Option<ToolCall>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<ToolCall>> {
        let calls = tx.scope(&self.place).tool_calls().unconsumed_of_task(&self.task).await?;
        let is_it = |call: &ToolCall| call.origin.waiter.as_ref().is_some_and(|waiter| waiter.call == self.call);
        Ok(calls.into_iter().find(is_it))
    }
}
