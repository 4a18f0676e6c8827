//! Whether a tool may be used, and why. Every door comes here, and here only `domain::policy::decide` is asked.

use crate::{Ctx, Error, Result, rules, users, workspaces};
use domain::Refusal;
use domain::agents::Agent;
use domain::callers::Caller;
use domain::capabilities::check_tool_name;
use domain::ids::{UserId, WorkspaceId};
use domain::policy::{self, Layer, Question, Source};
use domain::roles::Role;
use domain::rules::Rules;
use std::sync::Arc;
use store::{Operation, Tx};

/// What an agent at work asks. Whoever found the agent in a transaction is a member of its workspace.
pub fn question<'a>(caller: &'a Caller, agent: &'a Agent, source: Source<'a>, tool: &'a str) -> Question<'a> {
    Question {
        tool,
        source,
        workspace: &agent.workspace,
        role: &caller.role,
        is_member: true,
        agent_tools: agent.settings.tools.as_deref(),
    }
}

/// Refuses a tool that the rules do not allow.
pub fn require(rules: &Rules, question: &Question<'_>) -> Result<()> {
    Ok(policy::decide(rules, question).require()?)
}

/// Which of these tools are shown to a model: those that it could call.
pub fn allowed<'a>(
    rules: &Rules,
    asks: &Question<'_>,
    tools: impl IntoIterator<Item = (Source<'a>, &'a str)>,
) -> Vec<&'a str> {
    let may = |(source, tool): (Source<'a>, &'a str)| {
        policy::decide(rules, &Question { tool, source, ..*asks }).is_allowed().then_some(tool)
    };
    tools.into_iter().filter_map(may).collect()
}

/// The platform's own tools are on whatever the rules say: only the agent's list can take one away, so none are read.
pub(crate) fn require_platform(caller: &Caller, agent: &Agent, tool: &str) -> Result<()> {
    require(&Rules::default(), &question(caller, agent, Source::Platform, tool))
}

/// A decision as people read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    pub allowed: bool,
    pub layer: Layer,
    pub rule: Option<String>,
    pub detail: String,
}

/// Why somebody may use a tool in a workspace, or why not, from what is declared. Members ask about themselves, admins
/// about everybody.
pub async fn explain(ctx: &Ctx, workspace: &str, user: &str, tool: &str) -> Result<Explained> {
    let user = UserId::parse(user)?;
    check_tool_name(tool)?;
    let ask = Ask { caller: ctx.caller.clone(), workspace: workspace.to_owned(), user };
    let Standing { workspace, role, is_member } = ctx.house.store().read(ask).await?;
    let rules = rules::in_force(&ctx.house).await?;
    let question =
        Question { tool, source: Source::Any, workspace: &workspace, role: &role, is_member, agent_tools: None };
    let decision = policy::decide(&rules, &question);
    Ok(Explained {
        allowed: decision.is_allowed(),
        layer: decision.layer(),
        rule: decision.rule().map(str::to_owned),
        detail: decision.detail(),
    })
}

/// What a person is in a workspace.
struct Standing {
    workspace: WorkspaceId,
    role: Role,
    is_member: bool,
}

struct Ask {
    caller: Arc<Caller>,
    workspace: String,
    user: UserId,
}

impl Operation for Ask {
    type Output = Standing;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Standing> {
        let workspace = workspaces::find(tx, &self.caller, &self.workspace).await?.id;
        if self.user != self.caller.user && self.caller.role != Role::Admin {
            return Err(Refusal::forbidden("only an admin asks what others may use").into());
        }
        let user = tx.user(&self.user).await?.ok_or_else(users::not_found)?;
        let is_member = tx.is_member(&self.user, &workspace).await?;
        Ok(Standing { workspace, role: user.role, is_member })
    }
}
