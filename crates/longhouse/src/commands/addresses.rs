//! Which agent is meant: the one that was named, the one the token is for, or the one of that id, wherever it is.

use super::{all_pages, path};
use crate::cli::{Actor, AgentAddress, OneAgent, Usage};
use crate::client::Client;
use anyhow::{Result, bail};

/// An agent as a path names it, and the person who asks.
pub(super) struct Located {
    project: String,
    agent: String,
    workspace: Option<String>,
    pub(super) actor: Actor,
}

impl Located {
    pub(super) fn path(&self, parts: &[&str]) -> String {
        let mut segments = vec!["my", "projects", &self.project, "agents", &self.agent];
        segments.extend(parts);
        path(&segments, &[("workspace", self.workspace.as_deref())])
    }
}

impl From<OneAgent> for AgentAddress {
    fn from(one: OneAgent) -> Self {
        Self { project: one.project, agent: Some(one.agent), workspace: one.workspace, person: one.person }
    }
}

/// What is said goes before what the token says. Names repeat from project to project, so a name alone names no agent.
pub(super) async fn locate(client: &Client, address: AgentAddress) -> Result<Located> {
    let AgentAddress { project, agent, workspace, person } = address;
    let actor = Actor::from(person);
    let (own_project, own_agent) = client.own_agent().map(|own| (own.project, own.agent)).unzip();
    // A variable of the environment that is empty says nothing.
    let said = |text: &String| !text.is_empty();
    let Some(agent) = agent.filter(said).or(own_agent) else {
        bail!(Usage("which agent? Give -a AGENT, or use a token that is for one"));
    };
    let project = match project.filter(said).or(own_project) {
        Some(project) => project,
        None if agent.starts_with("agt_") => project_of(client, &actor, workspace.as_deref(), &agent).await?,
        None => bail!(Usage("which project? Give -p PROJECT, or the agent's id instead of its name")),
    };
    Ok(Located { project, agent, workspace, actor })
}

async fn project_of(client: &Client, actor: &Actor, workspace: Option<&str>, agent: &str) -> Result<String> {
    let projects = all_pages(client, actor, &["my", "projects"], &[("workspace", workspace)]).await?;
    let found = projects.iter().find(|project| {
        let agents = project["agents"].as_array();
        agents.into_iter().flatten().any(|one| one["id"] == agent)
    });
    match found.and_then(|project| project["id"].as_str()) {
        Some(id) => Ok(id.to_owned()),
        None => bail!("AGENT_NOT_FOUND: there is no agent of that id in a project that you can see"),
    }
}
