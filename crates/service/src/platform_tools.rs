//! The platform's own tools on behalf of an agent: one function for all of them, whatever the door.

use crate::items::{self, Acting};
use crate::{Ctx, Result, agents, policy, rules, skills};
use domain::agents::Agent;
use domain::callers::Credential;
use domain::item_requests::ItemAnswer;
use domain::platform_tools::{self, Family, PlatformTool, SKILL_READ, WORKSPACE_PUBLISH};
use domain::policy::{Source, may_publish_from};
use domain::rules::Rules;
use domain::skill_requests::SkillAnswer;
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ToolAnswer {
    Item(ItemAnswer),
    Skill(SkillAnswer),
}

pub async fn call(ctx: &Ctx, acting: Acting, tool: &str, envelope: Map<String, Value>) -> Result<ToolAnswer> {
    match platform_tools::find(tool).map(|tool| tool.family) {
        Some(Family::Items) => items::call(ctx, acting, tool, envelope).await.map(ToolAnswer::Item),
        Some(Family::Skills) => skills::read(ctx, acting, envelope).await.map(ToolAnswer::Skill),
        Some(Family::SharedContext | Family::Recall) | None => Err(platform_tools::not_found().into()),
    }
}

/// Which of them the token's agent could use now, to be shown to it: none without an agent.
pub async fn of_own_agent(ctx: &Ctx) -> Result<Vec<&'static str>> {
    if !matches!(ctx.caller.credential, Credential::Agent { .. }) {
        return Ok(Vec::new());
    }
    let agent = agents::get_own(ctx).await?;
    let rules = rules::in_force(&ctx.house).await?;
    let standing = platform_tools::ALL.iter().filter(|tool| is_of_use(tool, &agent, &rules));
    let asks = policy::question(&ctx.caller, &agent, Source::Platform, "");
    Ok(policy::allowed(&rules, &asks, standing.map(|tool| (Source::Platform, tool.name))))
}

/// A tool that could only ever be refused is not worth a model's attention.
fn is_of_use(tool: &PlatformTool, agent: &Agent, rules: &Rules) -> bool {
    match tool.name {
        WORKSPACE_PUBLISH => may_publish_from(agent).is_ok(),
        SKILL_READ => !rules.skills_of(&agent.workspace).is_empty(),
        _ => tool.family != Family::Recall,
    }
}
