//! Answers of people that stand for later calls.

use super::judging::{By, Judge};
use crate::Result;
use domain::ids::WorkspaceId;
use domain::standing_rules::{Asked, RulePlace, StandingRule};
use domain::tool_calls::ToolCall;
use store::Tx;

impl Judge {
    /// Whether a person's standing rule covers a call that was judged.
    pub(super) async fn is_remembered(
        &self,
        tx: &mut Tx,
        workspace: &WorkspaceId,
        call: &ToolCall,
        by: &By,
    ) -> Result<bool> {
        // An answer about a plugin stands for itself only.
        let By::Node { request, .. } = by else { return Ok(false) };
        let origin = &call.origin;
        let Some(node) = call.delivery.node.clone() else { return Ok(false) };
        let place = RulePlace { project: origin.project.clone(), agent: origin.agent.id.clone(), node };
        let asked = Asked {
            user: &origin.user,
            place: &place,
            session: origin.session.as_ref(),
            tool: &call.wish.tool,
            params: &call.wish.params,
            // By where it really leads: a link in a folder may lead out of it.
            path: real_path(call).or(request.path()),
            is_command: request.tool().is_command(),
            network: call.judgement.as_ref().is_some_and(|judgement| judgement.network),
        };
        let rules =
            tx.scope(workspace).standing_rules().of_tool(&origin.project, &origin.agent.id, &call.wish.tool).await?;
        for rule in rules.iter().filter(|rule| rule.stands_for(asked, self.now)) {
            if self.is_as_wide_as(tx, workspace, rule, call).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A rule goes as far as what was shown when it was made.
    async fn is_as_wide_as(
        &self,
        tx: &mut Tx,
        workspace: &WorkspaceId,
        rule: &StandingRule,
        call: &ToolCall,
    ) -> Result<bool> {
        let Some(approval) = tx.scope(workspace).approvals().get(&rule.approval).await? else { return Ok(false) };
        let shown = tx.scope(workspace).tool_calls().get(&approval.project, &approval.call).await?;
        let shown = shown.and_then(|shown| shown.judgement);
        Ok(shown.zip(call.judgement.as_ref()).is_some_and(|(shown, found)| rule.is_as_wide_as(&shown, found)))
    }
}

fn real_path(call: &ToolCall) -> Option<&str> {
    call.judgement.as_ref()?.preview.as_ref()?.path.as_deref()
}
