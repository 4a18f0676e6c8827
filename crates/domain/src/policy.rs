//! Decisions about who may do what, as pure functions. What a caller may not see never gets this far.

use crate::agents::{Agent, Visibility};
use crate::participants::glob;
use crate::{Refusal, Result};

/// Publishing is one-way: what is private may become shared, never the reverse. Asked before the target or the item is
/// looked for, so that a shared agent learns nothing about either.
pub fn may_publish_from(agent: &Agent) -> Result<()> {
    match agent.visibility {
        Visibility::Private => Ok(()),
        Visibility::Shared => Err(Refusal::forbidden("a shared agent does not publish: only private agents do")),
    }
}

pub fn may_publish_to(target: &Agent) -> Result<()> {
    match target.visibility {
        Visibility::Shared => Ok(()),
        Visibility::Private => {
            Err(Refusal::forbidden("the target is a private agent: only shared agents are published to"))
        }
    }
}

/// An agent that names its tools has no others.
pub fn may_use_tool(agent: &Agent, tool: &str) -> Result<()> {
    let Some(tools) = &agent.settings.tools else { return Ok(()) };
    if tools.iter().any(|pattern| glob(pattern.as_bytes(), tool.as_bytes())) {
        return Ok(());
    }
    Err(Refusal::forbidden("this agent's own list of tools does not have this one"))
}
