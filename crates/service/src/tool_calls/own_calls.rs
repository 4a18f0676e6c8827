//! Calls by an agent's own token: which agent, project and session they are of is taken from the credential, never from the
//! request.

use super::delivering::on_own_feet;
use super::moves::{Mover, Moving};
use super::{Execute, Get, Proposed, execute};
use crate::projects::ProjectRef;
use crate::{Ctx, Error, Result};
use domain::callers::{AgentRef, Caller, Credential};
use domain::ids::ToolCallId;
use domain::messages::Failure;
use domain::times::Timestamp;
use domain::tool_calls::{CallStatus, ToolCall};
use domain::{Code, Refusal};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::{Operation, Tx};

/// What the token's agent wants done.
#[derive(Debug, Clone)]
pub struct OwnWish {
    pub tool: String,
    pub params: Map<String, Value>,
    /// On which node, by id or name, if there are several.
    pub node: Option<String>,
}

/// Puts a call of the token's agent on record, as `execute` does.
pub async fn execute_as_own_agent(ctx: &Ctx, wish: OwnWish) -> Result<Proposed> {
    let OwnWish { tool, params, node } = wish;
    let (project, agent) = own(&ctx.caller)?;
    let agent = agent.id.as_str().to_owned();
    // A token for a session brings that session along.
    execute(ctx, project, Execute { agent, session: None, tool, params, node }).await
}

/// A call of the token's agent, and where it is.
pub async fn get_own(ctx: &Ctx, id: &str) -> Result<(Proposed, ToolCall)> {
    let (project, agent) = own(&ctx.caller)?;
    let id = ToolCallId::parse(id)?;
    let proposed = Proposed { workspace: agent.workspace.clone(), project: agent.project.clone(), call: id.clone() };
    let (_, call) = ctx.house.store().read(Get { caller: ctx.caller.clone(), project, id }).await?;
    Ok((proposed, call))
}

fn own(caller: &Caller) -> Result<(ProjectRef, &AgentRef)> {
    let Credential::Agent { agent, .. } = &caller.credential else {
        return Err(Refusal::forbidden("this needs a token that is for an agent").into());
    };
    let workspace = Some(agent.workspace.as_str().to_owned());
    Ok((ProjectRef { id_or_name: agent.project.as_str().to_owned(), workspace }, agent))
}

/// Takes back a wish of one's own of which nothing has come yet. What has begun on a machine comes to its own end, and what
/// a turn waits for is the turn's.
pub async fn withdraw(ctx: &Ctx, proposed: &Proposed) -> Result<()> {
    // A house that closes lets its callers go; what they wished for is there when it opens again.
    if ctx.house.authority().is_closing() {
        return Ok(());
    }
    let (project, _) = own(&ctx.caller)?;
    let get = Get { caller: ctx.caller.clone(), project, id: proposed.call.clone() };
    let operation = Withdraw { caller: ctx.caller.clone(), get, now: ctx.now() };
    let (house, workspace) = (ctx.house.clone(), proposed.workspace.clone());
    on_own_feet(async move { house.store().write(&workspace, operation).await }).await
}

struct Withdraw {
    caller: Arc<Caller>,
    get: Get,
    now: Timestamp,
}

impl Operation for Withdraw {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let (workspace, call) = self.get.run(tx).await?;
        if call.origin.waiter.is_some() || !call.status.may_become(CallStatus::Cancelled) {
            return Ok(());
        }
        let moving = Moving { workspace: &workspace, mover: Mover::Caller(&self.caller), now: self.now };
        let why = Failure { code: Code::Cancelled, message: "whoever asked for it took it back".to_owned() };
        moving.end(tx, &call, CallStatus::Cancelled, why).await?;
        Ok(())
    }
}
