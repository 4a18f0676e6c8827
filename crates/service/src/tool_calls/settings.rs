//! What the settings of house and project say of a call, when it is judged and once more before its node is told: which programs
//! nobody runs, whether a person has to be asked, and whether a command may use the network.

use super::judging::{By, Judge};
use super::plugin_calls::require_same_tool;
use crate::{Error, Result};
use domain::Refusal;
use domain::ids::WorkspaceId;
use domain::messages::Failure;
use domain::node_tools::{NodeRequest, NodeTool};
use domain::policy::{NETWORK, Source};
use domain::projects::ProjectApproval;
use domain::tool_calls::{Preview, ToolCall};
use serde_json::Value;
use store::Tx;

/// What a call asks for, with its arguments as they were given.
pub(super) fn request_of(call: &ToolCall, tool: NodeTool) -> Result<(NodeRequest, Value)> {
    let arguments: Value =
        serde_json::from_str(&call.wish.params).map_err(|_| Refusal::invalid("the arguments are not JSON"))?;
    Ok((NodeRequest::parse(tool, &arguments)?, arguments))
}

/// What was granted, or why it was refused; what went wrong otherwise is passed on.
pub(super) fn granted<T>(asked: Result<T>) -> Result<Result<T, Failure>> {
    match asked {
        Ok(given) => Ok(Ok(given)),
        Err(Error::Refused(refusal)) => Ok(Err(refusal.into())),
        Err(error) => Err(error),
    }
}

impl Judge {
    /// Refuses a program of the house's list, by the name that was given and by the file that its node found, also behind a
    /// wrapper.
    pub(super) fn require_not_denied(&self, request: &NodeRequest, preview: Option<&Preview>) -> Result<()> {
        let NodeRequest::Execute(command) = request else { return Ok(()) };
        let denied = self.rules.house.approvals.denied();
        let found = preview.and_then(|preview| preview.program.as_deref());
        let behind = preview.map(|preview| preview.starts.clone()).unwrap_or_default();
        for program in [Some(command.program.as_str()), found].into_iter().flatten() {
            denied.check_found(program, &command.args, &behind)?;
        }
        Ok(())
    }

    /// Which calls the project wants a person to be asked about.
    pub(super) async fn wanted_by_project(
        &self,
        tx: &mut Tx,
        workspace: &WorkspaceId,
        call: &ToolCall,
    ) -> Result<ProjectApproval> {
        let project = tx.scope(workspace).projects().get(&call.origin.project).await?;
        Ok(project.ok_or_else(Refusal::project_not_found)?.approval)
    }

    /// Whether a command may use the network. Only what its node would allow is worth asking the rules about.
    pub(super) async fn has_network(
        &self,
        tx: &mut Tx,
        workspace: &WorkspaceId,
        (call, request): (&ToolCall, &NodeRequest),
        preview: Option<&Preview>,
    ) -> Result<bool> {
        if !request.tool().is_command() || !preview.is_some_and(|preview| preview.network) {
            return Ok(false);
        }
        Ok(granted(self.require_allowed(tx, workspace, call, (Source::Node, NETWORK)).await)?.is_ok())
    }

    /// Whether a call that was judged once could still be made: by the rules, by a machine that serves its person, with what it
    /// was granted, and by the answer that it has. Asked before its node is told, when the node asks whether to begin, and
    /// whenever rights shrink; of a plugin's tool, whether it is still the one that was judged. Gives who would make it.
    pub(super) async fn require_standing(&self, tx: &mut Tx, workspace: &WorkspaceId, call: &ToolCall) -> Result<By> {
        let judgement = call.judgement.as_ref().ok_or_else(|| Refusal::invalid("it was not judged"))?;
        let fit = self.fit(tx, workspace, call, judgement.preview.as_ref()).await?;
        require_same_tool(judgement, &fit.by)?;
        if judgement.network
            && granted(self.require_allowed(tx, workspace, call, (Source::Node, NETWORK)).await)?.is_err()
        {
            return Err(Refusal::forbidden("the rules do not let this command use the network any more").into());
        }
        let has_answer = call.approval.is_some() || !fit.asks(judgement.risk);
        if !has_answer && !self.is_remembered(tx, workspace, call, &fit.by).await? {
            let message = "a person has to be asked about such a call by now, and nobody was asked about this one";
            return Err(Refusal::forbidden(message).into());
        }
        Ok(fit.by)
    }
}
