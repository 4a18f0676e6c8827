//! Which tools an agent or a person could use now.

use super::judging::serving;
use crate::projects::{self, ProjectRef};
use crate::{Ctx, Error, Result, agents, policy, rules};
use domain::callers::{Caller, Credential};
use domain::node_tools::NodeTool;
use domain::policy::{Question, Source};
use domain::rules::Rules;
use domain::tool_calls::Risk;
use domain::tool_schemas::{self, Tool};
use std::sync::Arc;
use store::{Operation, Tx};

/// What the token's agent could use for its person, and on which machines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reach {
    /// None if no machine serves the project.
    pub tools: Vec<NodeTool>,
    /// The names of the machines, whether or not they are there just now.
    pub nodes: Vec<String>,
}

/// The node tools that the token's agent could use: none without an agent, or without a machine of its person.
pub async fn of_own_agent(ctx: &Ctx) -> Result<Reach> {
    let rules = rules::in_force(&ctx.house).await?;
    let nodes = ctx.house.store().read(Serving { caller: ctx.caller.clone(), rules: rules.clone() }).await?;
    if nodes.is_empty() {
        return Ok(Reach::default());
    }
    let agent = agents::get_own(ctx).await?;
    let asks = policy::question(&ctx.caller, &agent, Source::Node, "");
    let may = |tool: &NodeTool| policy::require(&rules, &Question { tool: tool.capability(), ..asks }).is_ok();
    Ok(Reach { tools: NodeTool::ALL.into_iter().filter(may).collect(), nodes })
}

/// A tool that somebody could use.
pub struct Offer {
    pub tool: Tool,
    pub capability: &'static str,
    /// The least that a call of it is.
    pub risk: Risk,
    /// Whether it is done on a person's machine.
    pub on_node: bool,
}

/// What the caller could have an agent of a project do: on their machines as the rules allow, and what the platform gives.
pub async fn available(ctx: &Ctx, project: ProjectRef) -> Result<Vec<Offer>> {
    ctx.caller.require_person_or_agent()?;
    let project = ctx.house.store().read(projects::Find { caller: ctx.caller.clone(), reference: project }).await?;
    let rules = rules::in_force(&ctx.house).await?;
    let (workspace, role) = (&project.workspace, &ctx.caller.role);
    let asks = Question { tool: "", source: Source::Node, workspace, role, is_member: true, agent_tools: None };
    let may = |tool: &NodeTool| policy::require(&rules, &Question { tool: tool.capability(), ..asks }).is_ok();
    let on_nodes = NodeTool::ALL.into_iter().filter(may).map(|tool| Offer {
        tool: tool_schemas::node::of(tool),
        capability: tool.capability(),
        risk: least(tool),
        on_node: true,
    });
    let on_platform = tool_schemas::all().into_iter().map(|tool| {
        let capability = tool.name;
        Offer { tool, capability, risk: Risk::Low, on_node: false }
    });
    Ok(on_nodes.chain(on_platform).collect())
}

fn least(tool: NodeTool) -> Risk {
    match tool {
        NodeTool::ReadFile | NodeTool::ListDirectory => Risk::Low,
        NodeTool::WriteFile | NodeTool::EditFile => Risk::Medium,
        NodeTool::DeleteFile | NodeTool::ExecuteCommand => Risk::High,
    }
}

/// The names of the machines that serve the token's agent.
struct Serving {
    caller: Arc<Caller>,
    rules: Arc<Rules>,
}

impl Operation for Serving {
    type Output = Vec<String>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<String>> {
        let Credential::Agent { agent, .. } = &self.caller.credential else { return Ok(Vec::new()) };
        let whose = (&self.caller.user, &agent.project);
        let nodes = serving(tx, &self.rules, &agent.workspace, whose).await?;
        Ok(nodes.into_iter().map(|node| node.name).collect())
    }
}
