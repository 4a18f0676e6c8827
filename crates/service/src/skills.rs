//! Skills of a workspace: what its agents load, and what its people see of them. Each door names a workspace or an agent
//! of one, and gets what that workspace lists and nothing else.

use crate::items::Acting;
use crate::{Ctx, Error, Result, agents, rules, workspaces};
use domain::callers::Caller;
use domain::ids::WorkspaceId;
use domain::platform_tools::SKILL_READ;
use domain::skill_requests::{SkillAnswer, SkillRequest, not_found};
use domain::skills::{Skill, prompt_section};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::{Operation, Tx};

/// The tool `skill_read`.
pub async fn read(ctx: &Ctx, acting: Acting, envelope: Map<String, Value>) -> Result<SkillAnswer> {
    let request = SkillRequest::parse(SKILL_READ, envelope)?;
    let workspace = ctx.house.store().read(Place { caller: ctx.caller.clone(), acting }).await?;
    let rules = rules::in_force(&ctx.house).await?;
    let skill = rules.skill_of(&workspace, &request.skill).ok_or_else(not_found)?;
    Ok(SkillAnswer::from(skill, request.file.as_deref())?)
}

/// Where the agent at work is, as long as it may load skills.
struct Place {
    caller: Arc<Caller>,
    acting: Acting,
}

impl Operation for Place {
    type Output = WorkspaceId;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<WorkspaceId> {
        Ok(self.acting.resolve(tx, &self.caller, SKILL_READ).await?.agent.workspace)
    }
}

/// What the token's agent is told of the skills of its workspace; empty if there are none.
pub async fn told_to_own_agent(ctx: &Ctx) -> Result<String> {
    let agent = agents::get_own(ctx).await?;
    Ok(prompt_section(&rules::in_force(&ctx.house).await?.skills_of(&agent.workspace)))
}

/// The skills of a workspace, for its members and for admins.
pub async fn list(ctx: &Ctx, workspace: &str) -> Result<Vec<Skill>> {
    let look = Look { caller: ctx.caller.clone(), workspace: workspace.to_owned() };
    let workspace = ctx.house.store().read(look).await?;
    Ok(rules::in_force(&ctx.house).await?.skills_of(&workspace).into_iter().cloned().collect())
}

struct Look {
    caller: Arc<Caller>,
    workspace: String,
}

impl Operation for Look {
    type Output = WorkspaceId;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<WorkspaceId> {
        Ok(workspaces::find(tx, &self.caller, &self.workspace).await?.id)
    }
}
