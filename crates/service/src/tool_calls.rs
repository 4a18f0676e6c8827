//! Calls of tools on people's machines and of plugins: wished for, judged, delivered, brought to an end. How they move is in `moves`.

mod asking;
mod deadlines;
mod delivering;
mod judging;
mod knowing;
mod moves;
mod offering;
mod own_calls;
mod plugin_calls;
mod proposing;
mod reconsidering;
mod remembering;
mod running;
mod settings;
mod unwanted;
mod waiting;

pub use deadlines::{Alarm, end_overdue_calls, end_overdue_calls_once};
pub use delivering::{Said, get_as_node, hear, open_calls};
pub(crate) use delivering::{judge, on_own_feet, woken};
pub(crate) use judging::{Judge, Judged};
pub(crate) use moves::{Mover, Moving};
pub use offering::{Offer, PluginTool, Reach, RunsOn, available, of_own_agent, plugin_tools_of_own_agent};
pub use own_calls::{OwnWish, execute_as_own_agent, get_own, withdraw};
pub(crate) use proposing::execute_for;
pub use proposing::{Execute, Proposed, execute};
pub use reconsidering::{follow_rights, reconsider};
pub(crate) use running::recover as recover_plugin_calls;
pub use running::{call_plugins, finish_plugin_calls};
pub(crate) use waiting::wait_for_progress;
pub use waiting::{wait, wait_for_change};

use crate::paging::{Listed, Page};
use crate::projects::{self, ProjectRef};
use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::callers::Caller;
use domain::ids::{NodeId, ToolCallId, WorkspaceId};
use domain::nodes::Node;
use domain::tool_calls::{Brief, CallStatus, ToolCall};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{LITTLE_BYTES, Operation, Tx};

/// Whether arguments or results are of a size that holds nobody up.
fn is_little(fields: &Map<String, Value>) -> bool {
    let size =
        |value: &Value| value.as_str().map_or_else(|| value.as_array().map_or(16, |all| all.len() * 256), str::len);
    fields.values().map(size).sum::<usize>() <= LITTLE_BYTES
}

/// A call, as those see it whom it concerns: the person it is made for.
pub async fn get(ctx: &Ctx, project: ProjectRef, id: &str) -> Result<ToolCall> {
    ctx.caller.require_person_or_agent()?;
    let id = ToolCallId::parse(id)?;
    let get = Get { caller: ctx.caller.clone(), project, id };
    Ok(ctx.house.store().read(get).await?.1)
}

struct Get {
    caller: Arc<Caller>,
    project: ProjectRef,
    id: ToolCallId,
}

impl Operation for Get {
    type Output = (WorkspaceId, ToolCall);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let project = projects::find(tx, &self.caller, &self.project).await?;
        let found = tx.scope(&project.workspace).tool_calls().get(&project.id, &self.id).await?;
        let seen = found.filter(|call| is_seen_by(call, &self.caller));
        Ok((project.workspace, seen.ok_or_else(Refusal::tool_call_not_found)?))
    }
}

/// The machines of calls that the caller was given.
pub async fn machines<'c>(ctx: &Ctx, calls: impl Iterator<Item = &'c ToolCall>) -> Result<BTreeMap<NodeId, Node>> {
    let ids: BTreeSet<NodeId> = calls.filter_map(|call| call.delivery.node.clone()).collect();
    ctx.house.store().read(Machines { ids }).await
}

struct Machines {
    ids: BTreeSet<NodeId>,
}

impl Operation for Machines {
    type Output = BTreeMap<NodeId, Node>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let mut found = BTreeMap::new();
        for id in &self.ids {
            found.extend(tx.node(id).await?.map(|node| (id.clone(), node)));
        }
        Ok(found)
    }
}

/// What was done for somebody on their machine is theirs.
fn is_seen_by(call: &ToolCall, caller: &Caller) -> bool {
    use domain::callers::Credential;
    let is_own = call.origin.user == caller.user;
    match &caller.credential {
        Credential::Agent { agent, session } => {
            let in_session = session.as_ref().is_none_or(|session| call.origin.session.as_ref() == Some(session));
            is_own && call.origin.agent.id == agent.id && in_session
        }
        _ => is_own,
    }
}

/// The caller's own calls in a project, newest first; of what is long in them, the beginning.
pub async fn list(ctx: &Ctx, project: ProjectRef, status: Option<&str>, page: Page) -> Result<Listed<Brief>> {
    ctx.caller.require_person()?;
    let limit = page.limit()?;
    let before = page.after(1)?.remove(0);
    let unknown = || {
        let names = CallStatus::ALL.map(CallStatus::as_str).join(", ");
        Refusal::invalid_field("status", format!("`status` is one of {names}"))
    };
    let status = status.map(|text| CallStatus::parse(text).ok_or_else(unknown)).transpose()?;
    let operation = List { caller: ctx.caller.clone(), project, status, before, limit: limit + 1 };
    let items = ctx.house.store().scan(operation).await?;
    Ok(Listed::cut(items, limit, |brief| vec![brief.call.id.as_str().to_owned()]))
}

struct List {
    caller: Arc<Caller>,
    project: ProjectRef,
    status: Option<CallStatus>,
    before: String,
    limit: u64,
}

/// So many calls are held whole at a time: each may be of many megabytes.
const READ_AT_ONCE: u64 = 4;

impl Operation for List {
    type Output = Vec<Brief>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Brief>> {
        let project = projects::find(tx, &self.caller, &self.project).await?;
        let user = &self.caller.user;
        let (mut found, mut before, mut left) = (Vec::new(), self.before.clone(), self.limit);
        while left > 0 {
            let mut calls = tx.scope(&project.workspace).tool_calls();
            let some = calls.page(&project.id, user, self.status, &before, READ_AT_ONCE.min(left)).await?;
            let Some(last) = some.last() else { break };
            before = last.id.as_str().to_owned();
            left -= some.len() as u64;
            found.extend(some.into_iter().map(ToolCall::in_brief));
        }
        Ok(found)
    }
}
