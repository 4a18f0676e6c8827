//! A call that somebody wishes for: put on record whatever becomes of it, and taken as far as it can go at once.

use super::delivering::{judge, on_own_feet, woken};
use super::is_little;
use super::judging::{Judge, Judged, serving};
use super::moves::{Mover, Moving};
use crate::agents::{self, AgentPath};
use crate::projects::{self, ProjectRef};
use crate::sessions::{self, SessionRef};
use crate::{Ctx, Error, Result, idempotency};
use domain::Refusal;
use domain::callers::{Caller, Credential};
use domain::capabilities::check_tool_name;
use domain::ids::{ProjectId, SessionId, ToolCallId, WorkspaceId};
use domain::messages::NamedAgent;
use domain::node_tools::NodeTool;
use domain::nodes::choose;
use domain::tool_calls::{CallOrigin, ToolCall, Waiter, Wish, check_room, is_of_a_plugin};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::{Operation, QueuedFor, Tx};

/// What somebody wants done on a machine.
#[derive(Debug, Clone)]
pub struct Execute {
    /// On behalf of which agent, by id or name.
    pub agent: String,
    pub session: Option<String>,
    pub tool: String,
    pub params: Map<String, Value>,
    /// On which node, by id or name, if there are several.
    pub node: Option<String>,
}

/// Where a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposed {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub call: ToolCallId,
}

/// Puts a call on record and takes it as far as it can go. What is not well-formed or not allowed is a call, too.
pub async fn execute(ctx: &Ctx, project: ProjectRef, input: Execute) -> Result<Proposed> {
    ctx.caller.require_person_or_agent()?;
    check_tool_name(&input.tool)?;
    let turn = WorkspaceId::personal(&ctx.caller.user);
    let operation = Propose {
        caller: ctx.caller.clone(),
        project,
        input,
        waiter: None,
        id: ToolCallId::generated(ctx.house.unique()),
        judge: judge(&ctx.house).await?,
    };
    let ctx = ctx.clone();
    on_own_feet(async move {
        let sent = idempotency::write(&ctx, &turn, operation).await?;
        ctx.house.tool_calls().rouse();
        woken(&ctx.house, sent.woken).await;
        Ok(sent.proposed)
    })
    .await
}

/// The same for a turn that waits for it.
pub(crate) async fn execute_for(
    ctx: &Ctx,
    (workspace, project): (&WorkspaceId, &ProjectId),
    input: Execute,
    waiter: Waiter,
) -> Result<Proposed> {
    let project =
        ProjectRef { id_or_name: project.as_str().to_owned(), workspace: Some(workspace.as_str().to_owned()) };
    let (caller, id) = (ctx.caller.clone(), ToolCallId::generated(ctx.house.unique()));
    let judge = judge(&ctx.house).await?;
    let operation = Propose { caller, project, input, waiter: Some(waiter), id, judge };
    // Whoever waits is at it: nobody need be woken.
    let sent = ctx.house.store().write(workspace, operation).await?;
    ctx.house.tool_calls().rouse();
    ctx.house.plugins().running.bell.notify_one();
    Ok(sent.proposed)
}

pub(crate) struct Propose {
    pub(crate) caller: Arc<Caller>,
    pub(crate) project: ProjectRef,
    pub(crate) input: Execute,
    pub(crate) waiter: Option<Waiter>,
    pub(crate) id: ToolCallId,
    pub(crate) judge: Judge,
}

/// What is kept of it for a request that is repeated.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) proposed: Proposed,
    pub(crate) woken: Option<QueuedFor>,
}

impl Operation for Propose {
    type Output = Sent;
    type Error = Error;

    fn is_small(&self) -> bool {
        NodeTool::parse(&self.input.tool).is_some_and(NodeTool::only_looks) && is_little(&self.input.params)
    }

    async fn run(&self, tx: &mut Tx) -> Result<Sent> {
        let project = projects::find(tx, &self.caller, &self.project).await?;
        let origin = self.origin(tx, &project.workspace, &project.id).await?;
        let wish = Wish {
            tool: self.input.tool.clone(),
            params: Value::Object(self.input.params.clone()).to_string(),
            node: self.input.node.clone(),
        };
        let now = self.judge.now;
        let mut call = ToolCall::proposed(self.id.clone(), origin, wish, None, now);
        let moving = Moving { workspace: &project.workspace, mover: Mover::Caller(&self.caller), now };
        let proposed =
            Proposed { workspace: project.workspace.clone(), project: project.id.clone(), call: call.id.clone() };
        let open = tx.scope(&project.workspace).tool_calls().open_of_user(&project.id, &call.origin.user).await?;
        check_room(open, call.wish.params.len() as u64)?;
        if is_of_a_plugin(&call.wish.tool) {
            moving.begin(tx, &call).await?;
            let Judged { woken, .. } = self.judge.judge(tx, &moving, &call, None).await?;
            return Ok(Sent { proposed, woken });
        }
        let whose = (&call.origin.user, &call.origin.project);
        let serving = serving(tx, &self.judge.rules, &project.workspace, whose).await?;
        // Before anything is put on record: there is nobody who could do it, or nobody can say who.
        let node = choose(&serving, call.wish.node.as_deref(), now)?;
        call.delivery.node = Some(node.id.clone());
        moving.begin(tx, &call).await?;
        // A node that is there is asked first what a change would change; it answers, or time does.
        let only_looks = NodeTool::parse(&call.wish.tool).is_none_or(NodeTool::only_looks);
        let wants_preview = !only_looks && node.is_online(now);
        if wants_preview && self.judge.is_fit(tx, &project.workspace, &call).await? {
            return Ok(Sent { proposed, woken: None });
        }
        let Judged { woken, .. } = self.judge.judge(tx, &moving, &call, None).await?;
        Ok(Sent { proposed, woken })
    }
}

impl Propose {
    /// A token for one session is of that session, also if nobody says so.
    fn session(&self) -> Option<&str> {
        let own = match &self.caller.credential {
            Credential::Agent { session, .. } => session.as_ref().map(SessionId::as_str),
            _ => None,
        };
        self.input.session.as_deref().or(own)
    }

    async fn origin(&self, tx: &mut Tx, workspace: &WorkspaceId, project: &ProjectId) -> Result<CallOrigin> {
        let reference =
            ProjectRef { id_or_name: project.as_str().to_owned(), workspace: Some(workspace.as_str().to_owned()) };
        let path = AgentPath { project: reference, id_or_name: self.input.agent.clone() };
        let agent = agents::find(tx, &self.caller, &path).await?;
        let session = match self.session() {
            None => None,
            Some(id) => {
                let reference = SessionRef::parse(id, Some(workspace.as_str().to_owned()))?;
                let session = sessions::find_place(tx, &self.caller, &reference).await?;
                session.require_active()?;
                if session.project.as_ref().is_some_and(|own| own != project) {
                    return Err(Refusal::invalid_field("session", "the session is of another project").into());
                }
                Some(session.id)
            }
        };
        Ok(CallOrigin {
            project: project.clone(),
            session,
            agent: NamedAgent { id: agent.id, name: agent.name },
            user: self.caller.user.clone(),
            participant: self.caller.participant.clone(),
            waiter: self.waiter.clone(),
        })
    }
}
