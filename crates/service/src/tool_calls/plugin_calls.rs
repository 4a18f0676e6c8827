//! What is special about calls of plugins: whether the tool is one that somebody accepted, just as it is now, and what such a call
//! is worth. Everything else is as with any call.

use super::judging::{By, Fit, Judge, parties, unknown_tool};
use crate::Result;
use domain::digests::{PluginPlan, plugin_digest};
use domain::ids::WorkspaceId;
use domain::plugins::check_arguments;
use domain::policy::Source;
use domain::projects::ProjectApproval;
use domain::risks::{Assessment, assess_plugin};
use domain::tool_calls::{Judgement, PluginUse, ToolCall};
use domain::{Code, Refusal};
use serde_json::{Map, Value};
use store::{AcceptedTool, Tx};

/// Of the arguments of one call, in JSON.
const ARGUMENTS_LARGEST_BYTES: usize = 1024 * 1024;

impl Judge {
    /// Refuses a call of a plugin's tool that is not well-formed, not allowed, or not what was accepted.
    pub(super) async fn fit_of_plugin(&self, tx: &mut Tx, workspace: &WorkspaceId, call: &ToolCall) -> Result<Fit> {
        let tool = call.wish.tool.as_str();
        let mut accepted = tx.accepted_tools_called(tool).await?;
        accepted.retain(|accepted| self.rules.house.plugins.contains_key(&accepted.plugin));
        let Some(plugin) = self.whose(tool, &accepted) else { return Err(unknown_tool(call).into()) };
        let plugin = plugin.to_owned();
        // Before anything is told of it: who may not use it learns no more than that.
        self.require_allowed(tx, workspace, call, (Source::Plugin(&plugin), tool)).await?;
        let accepted = accepted.into_iter().find(|accepted| accepted.plugin == plugin);
        let accepted = self.as_accepted(&plugin, tool, accepted)?;
        if call.wish.node.is_some() {
            return Err(Refusal::invalid_field("node", "a plugin's tool runs on no node").into());
        }
        if call.wish.params.len() > ARGUMENTS_LARGEST_BYTES {
            let message = format!("the arguments are larger than {ARGUMENTS_LARGEST_BYTES} bytes");
            return Err(Refusal::new(Code::ValueTooLarge, message).into());
        }
        let arguments = arguments_of(call)?;
        check_arguments(&accepted.described.schema, &arguments)?;
        let rules = self.rules.house.plugins.get(&plugin);
        let waits_for_a_person = rules.is_none_or(|rules| rules.waits_for_a_person(tool));
        let wanted = self.wanted_by_project(tx, workspace, call).await?;
        let by = By::Plugin { tool: accepted, waits_for_a_person };
        Ok(Fit { by, arguments: Value::Object(arguments), wanted })
    }

    /// The plugin that has a tool: by what it says now, else by what was accepted, else by what it was granted.
    fn whose<'a>(&'a self, tool: &str, accepted: &'a [AcceptedTool]) -> Option<&'a str> {
        if let Some((plugin, _)) = self.plugins.find(tool) {
            return Some(plugin);
        }
        if let [only] = accepted {
            return Some(&only.plugin);
        }
        let mut granted = self.rules.house.plugins.iter().filter(|(_, plugin)| plugin.caps.find(tool).is_some());
        let first = granted.next().map(|(name, _)| name.as_str());
        first.filter(|_| granted.next().is_none())
    }

    /// The tool as somebody accepted it, unless the plugin has another one of that name by now.
    fn as_accepted(&self, plugin: &str, tool: &str, accepted: Option<AcceptedTool>) -> Result<AcceptedTool> {
        let listed = self.plugins.plugins.get(plugin);
        let offer = self.plugins.tool(plugin, tool);
        let is_heard = listed.is_some_and(|listed| listed.is_ready);
        match (accepted, offer) {
            (Some(accepted), Some(offer)) if accepted.fingerprint == offer.fingerprint => Ok(accepted),
            (_, Some(_)) => {
                let message = "this tool is new or has changed: it is off until an admin has accepted it as it is now";
                Err(Refusal::forbidden(message).with("plugin", plugin).into())
            }
            // It may come back, and then it is the same tool or is not called.
            (Some(accepted), None) if !is_heard => Ok(accepted),
            (None, None) if !is_heard => {
                let message = format!("plugin `{plugin}` is not available; nothing was run");
                Err(Refusal::new(Code::PluginUnavailable, message).into())
            }
            (_, None) => Err(Refusal::new(Code::ToolNotFound, format!("there is no tool `{tool}`")).into()),
        }
    }

    pub(super) fn plugin_judgement(
        &self,
        call: &ToolCall,
        tool: &AcceptedTool,
        waits_for_a_person: bool,
        fit: &Fit,
    ) -> Judgement {
        let is_always_asked = fit.wanted == ProjectApproval::Always;
        let Assessment { risk, reasons } =
            assess_plugin(&tool.plugin, waits_for_a_person, is_always_asked, &call.wish.params);
        let expires_at = self.now.plus_seconds(self.rules.house.approvals.decided_within_s(risk));
        let plugin = PluginUse {
            plugin: tool.plugin.clone(),
            fingerprint: tool.fingerprint.clone(),
            description: tool.described.description.clone(),
        };
        let plan = plan(call, &plugin, &fit.arguments);
        Judgement {
            risk,
            reasons,
            digest: plugin_digest(&plan, &parties(call, None), self.policy_epoch, expires_at),
            policy_epoch: self.policy_epoch,
            expires_at,
            network: false,
            preview: None,
            plugin: Some(plugin),
            session_knew: None,
            // It runs on nobody's own machine.
            for_deciders: true,
        }
    }
}

fn plan<'a>(call: &'a ToolCall, plugin: &'a PluginUse, arguments: &'a Value) -> PluginPlan<'a> {
    PluginPlan { plugin: &plugin.plugin, tool: &call.wish.tool, fingerprint: &plugin.fingerprint, arguments }
}

pub(super) fn arguments_of(call: &ToolCall) -> Result<Map<String, Value>> {
    let read = serde_json::from_str(&call.wish.params);
    Ok(read.map_err(|_| Refusal::invalid("the arguments are not a JSON object"))?)
}

/// What is about to be done is what was judged, and what a person said yes to, byte for byte.
pub(super) fn require_digest(call: &ToolCall, judgement: &Judgement, plugin: &PluginUse) -> Result<()> {
    let arguments = Value::Object(arguments_of(call)?);
    let plan = plan(call, plugin, &arguments);
    let made = plugin_digest(&plan, &parties(call, None), judgement.policy_epoch, judgement.expires_at);
    if made == judgement.digest {
        return Ok(());
    }
    Err(Refusal::new(Code::DigestMismatch, "what would be done is not what was approved").into())
}

/// A tool that was accepted anew in between is another one than the call was judged with.
pub(super) fn require_same_tool(judgement: &Judgement, by: &By) -> Result<()> {
    match (&judgement.plugin, by) {
        (Some(judged), By::Plugin { tool, .. })
            if judged.plugin == tool.plugin && judged.fingerprint == tool.fingerprint =>
        {
            Ok(())
        }
        (None, By::Node { .. }) => Ok(()),
        _ => Err(Refusal::forbidden("the tool is another one than when this call was judged").into()),
    }
}
