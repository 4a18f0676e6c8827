//! Which tools an agent or a person could use now.

use super::judging::serving;
use crate::projects::{self, ProjectRef};
use crate::{Ctx, Error, House, Result, agents, policy, rules};
use domain::callers::{Caller, Credential};
use domain::node_tools::NodeTool;
use domain::policy::{Question, Source};
use domain::projects::ProjectApproval;
use domain::rules::Rules;
use domain::tool_calls::Risk;
use domain::tool_schemas::{self, Tool};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::{AcceptedTool, Operation, Tx};

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
    pub name: String,
    pub description: String,
    pub schema: Value,
    pub capability: String,
    /// The least that a call of it is.
    pub risk: Risk,
    pub runs_on: RunsOn,
}

/// Who does it.
#[derive(Debug, Clone, PartialEq)]
pub enum RunsOn {
    Node,
    Platform,
    Plugin(String),
}

impl Offer {
    fn of(tool: Tool, capability: &str, risk: Risk, runs_on: RunsOn) -> Self {
        let (name, description) = (tool.name.to_owned(), tool.description.to_owned());
        Self { name, description, schema: tool.input, capability: capability.to_owned(), risk, runs_on }
    }
}

/// What the caller could have an agent of a project do: on their machines as the rules allow, and what the platform gives.
pub async fn available(ctx: &Ctx, project: ProjectRef) -> Result<Vec<Offer>> {
    ctx.caller.require_person_or_agent()?;
    let project = ctx.house.store().read(projects::Find { caller: ctx.caller.clone(), reference: project }).await?;
    let rules = rules::in_force(&ctx.house).await?;
    let (workspace, role) = (&project.workspace, &ctx.caller.role);
    let asks = Question { tool: "", source: Source::Node, workspace, role, is_member: true, agent_tools: None };
    let may = |tool: &NodeTool| policy::require(&rules, &Question { tool: tool.capability(), ..asks }).is_ok();
    let on_node = |tool| Offer::of(tool_schemas::node::of(tool), tool.capability(), least(tool), RunsOn::Node);
    let on_nodes = NodeTool::ALL.into_iter().filter(may).map(on_node);
    let on_platform = tool_schemas::all().into_iter().map(|tool| {
        let capability = tool.name;
        Offer::of(tool, capability, Risk::Low, RunsOn::Platform)
    });
    let always = project.approval == ProjectApproval::Always;
    let of_plugins = of_plugins(&ctx.house, &rules, &asks).await?.into_iter().map(|tool| Offer {
        risk: if always || tool.waits_for_a_person { Risk::High } else { Risk::Low },
        capability: tool.name.clone(),
        name: tool.name,
        description: tool.description,
        schema: Value::Object(tool.schema),
        runs_on: RunsOn::Plugin(tool.plugin),
    });
    Ok(on_nodes.chain(of_plugins).chain(on_platform).collect())
}

/// A plugin's tool that somebody may use: accepted, and still what was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginTool {
    pub plugin: String,
    pub name: String,
    pub description: String,
    pub schema: Map<String, Value>,
    pub waits_for_a_person: bool,
}

/// The plugins' tools that the token's agent may use for its person: none without an agent.
pub async fn plugin_tools_of_own_agent(ctx: &Ctx) -> Result<Vec<PluginTool>> {
    if ctx.house.plugins().listing().plugins.is_empty() || !matches!(ctx.caller.credential, Credential::Agent { .. }) {
        return Ok(Vec::new());
    }
    let rules = rules::in_force(&ctx.house).await?;
    let agent = agents::get_own(ctx).await?;
    of_plugins(&ctx.house, &rules, &policy::question(&ctx.caller, &agent, Source::Any, "")).await
}

async fn of_plugins(house: &House, rules: &Rules, asks: &Question<'_>) -> Result<Vec<PluginTool>> {
    let listing = house.plugins().listing();
    if listing.plugins.is_empty() {
        return Ok(Vec::new());
    }
    let accepted = house.store().read(Accepted).await?;
    let is_as_accepted = |tool: &AcceptedTool| {
        let offer = listing.tool(&tool.plugin, &tool.tool);
        offer.is_some_and(|offer| offer.fingerprint == tool.fingerprint)
    };
    let may = |tool: &AcceptedTool| {
        let question = Question { tool: &tool.tool, source: Source::Plugin(&tool.plugin), ..*asks };
        policy::require(rules, &question).is_ok()
    };
    let offered = accepted.into_iter().filter(|tool| is_as_accepted(tool) && may(tool)).map(|tool| PluginTool {
        waits_for_a_person: rules.house.plugins.get(&tool.plugin).is_none_or(|own| own.waits_for_a_person(&tool.tool)),
        plugin: tool.plugin,
        name: tool.tool,
        description: tool.described.description,
        schema: tool.described.schema,
    });
    Ok(offered.collect())
}

struct Accepted;

impl Operation for Accepted {
    type Output = Vec<AcceptedTool>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<AcceptedTool>> {
        Ok(tx.accepted_tools().await?)
    }
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
