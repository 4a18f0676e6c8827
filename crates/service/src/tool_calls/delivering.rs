//! A call on its way to its node and back. What a node says is heard only of the call, the telling and the node that it was
//! said to.

use super::is_little;
use super::judging::{By, Judge, Judged};
use super::moves::{Mover, Moving};
use super::settings::granted;
use crate::projects::ProjectRef;
use crate::{Ctx, Error, House, Result, nodes, rules, worker_spaces};
use domain::ids::{ApprovalId, ProjectId, ToolCallId, WorkspaceId};
use domain::messages::Failure;
use domain::node_tools::{NodeRequest, NodeTool};
use domain::nodes::{Node, Serves};
use domain::tool_calls::{CallStatus, Deliver, Preview, ToolCall, moved_on};
use domain::{Code, Refusal};
use serde_json::{Map, Value};
use store::{Operation, QueuedFor, Tx};

const OPEN_MOST: u64 = 200;
/// What a node may bring back.
const RESULT_LARGEST_BYTES: usize = 15 * 1024 * 1024;

impl Judge {
    /// Tells the node of an approved call if it is there, after the rules were asked once more. One that is not there hears of
    /// it when it comes. What a plugin is to do, this house does as soon as it is on record.
    pub(crate) async fn dispatch(&self, tx: &mut Tx, moving: &Moving<'_>, approved: &ToolCall) -> Result<Judged> {
        let by = match granted(self.require_standing(tx, moving.workspace, approved).await)? {
            Ok(by) => by,
            Err(why) => return moving.end(tx, approved, CallStatus::Denied, why).await,
        };
        if matches!(&by, By::Node { node, .. } if !node.is_online(self.now)) {
            return Ok(Judged { call: approved.clone(), woken: None });
        }
        let dispatched = approved.dispatched(self.now)?;
        moving.put(tx, approved, &dispatched).await?;
        Ok(Judged { call: dispatched, woken: None })
    }
}

/// What a node says about a call.
#[derive(Debug, Clone)]
pub enum Said {
    /// What it found out without doing anything.
    Preview(Preview),
    /// It has it in its journal, and asks whether it may begin. `started`: it has begun.
    Accept { attempt: u64, digest: String, started: bool },
    /// It will not do it.
    Refuse { attempt: u64, why: Failure },
    /// It has done it, as far as that went.
    Result { attempt: u64, result: Map<String, Value>, broke_off: bool },
    /// It cannot say whether it was done.
    Unknown { attempt: u64 },
}

/// Hears what a node says, and gives the call as it stands after that.
pub async fn hear(ctx: &Ctx, project: ProjectRef, id: &str, said: Said) -> Result<ToolCall> {
    let node = nodes::heard_of(ctx).await?;
    let id = ToolCallId::parse(id)?;
    let project = own_project(&node, &project)?;
    let judge = judge(&ctx.house).await?;
    let workspace = node.workspace.clone();
    let operation = Hear { node, project, id, said, judge };
    let house = ctx.house.clone();
    let asks_to_begin = matches!(operation.said, Said::Accept { .. });
    let call = on_own_feet(async move {
        let judged = house.store().write(&workspace, operation).await?;
        woken(&house, judged.woken).await;
        Ok(judged.call)
    })
    .await?;
    if asks_to_begin && call.status.has_ended() { Err(moved_on(call.status).into()) } else { Ok(call) }
}

/// A call as its node sees it.
pub async fn get_as_node(ctx: &Ctx, project: &ProjectRef, id: &str) -> Result<ToolCall> {
    let node = nodes::heard_of(ctx).await?;
    let (project, id) = (own_project(&node, project)?, ToolCallId::parse(id)?);
    ctx.house.store().read(GetAsNode { node, project, id }).await
}

struct GetAsNode {
    node: Node,
    project: ProjectId,
    id: ToolCallId,
}

impl Operation for GetAsNode {
    type Output = ToolCall;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<ToolCall> {
        own_call(tx, &self.node, &self.project, &self.id).await
    }
}

/// Finds a call that a node has to do with.
async fn own_call(tx: &mut Tx, node: &Node, project: &ProjectId, id: &ToolCallId) -> Result<ToolCall> {
    let found = tx.scope(&node.workspace).tool_calls().get(project, id).await?;
    let is_own = |call: &ToolCall| call.delivery.node.as_ref() == Some(&node.id);
    Ok(found.filter(is_own).ok_or_else(Refusal::tool_call_not_found)?)
}

/// What a node has to look at: calls that want a preview, or are to be made, or whose end it has not told.
pub async fn open_calls(ctx: &Ctx, project: &ProjectRef) -> Result<Vec<ToolCall>> {
    let node = nodes::heard_of(ctx).await?;
    own_project(&node, project)?;
    let judge = judge(&ctx.house).await?;
    let workspace = node.workspace.clone();
    // What waited for it goes out now.
    if ctx.house.store().read(Waiting { node: node.clone() }).await? {
        let (house, operation) = (ctx.house.clone(), DispatchAll { node: node.clone(), judge });
        on_own_feet(async move {
            for waiter in house.store().write(&workspace, operation).await? {
                woken(&house, Some(waiter)).await;
            }
            Ok(())
        })
        .await?;
    }
    ctx.house.store().read_beside(Open { node }).await
}

/// A node names projects by their ids: the one it serves, or any of the workspace whose members it serves.
fn own_project(node: &Node, reference: &ProjectRef) -> Result<ProjectId> {
    let project = ProjectId::parse(&reference.id_or_name)?;
    match &node.serves {
        Serves::Project(own) if *own != project => Err(Refusal::project_not_found().into()),
        Serves::Project(_) | Serves::Members => Ok(project),
    }
}

pub(crate) async fn judge(house: &House) -> Result<Judge> {
    let (rules, policy_epoch) = rules::numbered(house).await?;
    let approval = ApprovalId::generated(house.unique());
    Ok(Judge { rules, policy_epoch, approval, plugins: house.plugins().listing(), now: house.now() })
}

/// Once a row has moved whoever waits for it must hear of it, whether or not the caller is still there.
pub(crate) async fn on_own_feet<T: Send + 'static>(act: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let done = tokio::spawn(act).await;
    done.unwrap_or_else(|_| Err(store::Error::BadOperation("a step of a call panicked").into()))
}

/// An agent whose turn goes on hears of it; and so does whoever calls plugins, if something is to be called.
pub(crate) async fn woken(house: &House, waiter: Option<QueuedFor>) {
    house.plugins().running.bell.notify_one();
    if let Some(waiter) = waiter {
        worker_spaces::wake_surely(house, waiter).await;
    }
}

struct Hear {
    node: Node,
    project: ProjectId,
    id: ToolCallId,
    said: Said,
    judge: Judge,
}

impl Operation for Hear {
    type Output = Judged;
    type Error = Error;

    fn is_small(&self) -> bool {
        match &self.said {
            // A person may be asked then, and all that the session knows is kept.
            Said::Preview(_) => false,
            Said::Result { result, .. } => is_little(result),
            Said::Accept { .. } | Said::Refuse { .. } | Said::Unknown { .. } => true,
        }
    }

    async fn run(&self, tx: &mut Tx) -> Result<Judged> {
        let call = own_call(tx, &self.node, &self.project, &self.id).await?;
        let moving = Moving { workspace: &self.node.workspace, mover: Mover::Node(&self.node), now: self.judge.now };
        match &self.said {
            Said::Preview(preview) => self.preview(tx, &moving, &call, preview).await,
            Said::Accept { attempt, digest, started } => {
                self.accept(tx, &moving, &call, (*attempt, digest, *started)).await
            }
            Said::Refuse { attempt, why } => {
                if self.was_heard(&call, *attempt, CallStatus::Refused) && call.outcome.reason.as_ref() == Some(why) {
                    return Ok(Judged { call, woken: None });
                }
                let refused = call.refused(self.by(*attempt), why.clone(), self.judge.now)?;
                self.put(tx, &moving, &call, refused).await
            }
            Said::Result { attempt, result, broke_off } => {
                self.result(tx, &moving, &call, (*attempt, result, *broke_off)).await
            }
            Said::Unknown { attempt } => {
                if self.was_heard(&call, *attempt, CallStatus::Unknown) {
                    return Ok(Judged { call, woken: None });
                }
                let running = self.running(tx, &moving, &call, *attempt).await?;
                let lost = running.lost(self.by(*attempt), self.judge.now)?;
                self.put(tx, &moving, &running, lost).await
            }
        }
    }
}

impl Hear {
    fn by(&self, attempt: u64) -> Deliver<'_> {
        Deliver { node: Some(&self.node.id), attempt }
    }

    /// Whether the call has ended just so for this node: it says again what it had no answer to.
    fn was_heard(&self, call: &ToolCall, attempt: u64, status: CallStatus) -> bool {
        call.status == status && call.delivery.attempt == attempt && call.delivery.node.as_ref() == Some(&self.node.id)
    }

    async fn put(&self, tx: &mut Tx, moving: &Moving<'_>, before: &ToolCall, after: ToolCall) -> Result<Judged> {
        let woken = moving.put(tx, before, &after).await?;
        Ok(Judged { call: after, woken })
    }

    async fn preview(&self, tx: &mut Tx, moving: &Moving<'_>, call: &ToolCall, preview: &Preview) -> Result<Judged> {
        if call.status != CallStatus::Proposed {
            return Err(moved_on(call.status).into());
        }
        let moving = Moving { mover: Mover::For(call), ..*moving };
        self.judge.judge(tx, &moving, call, Some(preview.clone())).await
    }

    /// The same question gets the same answer: the first may have been lost.
    async fn accept(
        &self,
        tx: &mut Tx,
        moving: &Moving<'_>,
        call: &ToolCall,
        (attempt, digest, started): (u64, &str, bool),
    ) -> Result<Judged> {
        let judgement = call.judgement.as_ref().ok_or_else(|| moved_on(call.status))?;
        if judgement.digest != digest {
            let message = "what the node would do is not what was approved";
            return Err(Refusal::new(Code::DigestMismatch, message).with("digest", judgement.digest.as_str()).into());
        }
        let is_repeated = matches!(call.status, CallStatus::Accepted | CallStatus::Running)
            && call.delivery.attempt == attempt
            && call.delivery.node.as_ref() == Some(&self.node.id);
        if is_repeated && (!started || call.status == CallStatus::Running) {
            return Ok(Judged { call: call.clone(), woken: None });
        }
        if is_repeated {
            let running = call.running(self.by(attempt))?;
            return self.put(tx, moving, call, running).await;
        }
        let accepted = call.accepted(self.by(attempt), own_seconds(call), self.judge.now)?;
        // What was allowed when it was sent out may not be any more; it has not begun.
        if let Err(why) = granted(self.judge.require_standing(tx, moving.workspace, call).await)? {
            let moving = Moving { mover: Mover::House, ..*moving };
            return moving.end(tx, call, CallStatus::Cancelled, why).await;
        }
        self.put(tx, moving, call, accepted).await
    }

    /// The call as it runs, whether or not its node said that it has begun.
    async fn running(&self, tx: &mut Tx, moving: &Moving<'_>, call: &ToolCall, attempt: u64) -> Result<ToolCall> {
        if call.status == CallStatus::Running {
            return Ok(call.clone());
        }
        let running = call.running(self.by(attempt))?;
        moving.put(tx, call, &running).await?;
        Ok(running)
    }

    async fn result(
        &self,
        tx: &mut Tx,
        moving: &Moving<'_>,
        call: &ToolCall,
        (attempt, result, broke_off): (u64, &Map<String, Value>, bool),
    ) -> Result<Judged> {
        let text = Value::Object(result.clone()).to_string();
        if text.len() > RESULT_LARGEST_BYTES {
            return Err(Refusal::new(Code::ValueTooLarge, "the result is larger than a tool's may be").into());
        }
        let status = if broke_off { CallStatus::Failed } else { CallStatus::Completed };
        if self.was_heard(call, attempt, status) && call.outcome.result.as_deref() == Some(text.as_str()) {
            return Ok(Judged { call: call.clone(), woken: None });
        }
        let running = self.running(tx, moving, call, attempt).await?;
        let ended = running.brought_back(self.by(attempt), text, broke_off, self.judge.now)?;
        let woken = moving.put(tx, &running, &ended).await?;
        let ack = domain::events::Event::result_ack(&ended, self.judge.now);
        moving.tell(tx, &ended, ack).await?;
        Ok(Judged { call: ended, woken })
    }
}

/// What the tool itself may take.
fn own_seconds(call: &ToolCall) -> u64 {
    let arguments = serde_json::from_str(&call.wish.params).unwrap_or(Value::Null);
    let request = NodeTool::parse(&call.wish.tool).and_then(|tool| NodeRequest::parse(tool, &arguments).ok());
    request.map_or(0, |request| request.own_seconds())
}

struct Open {
    node: Node,
}

impl Operation for Open {
    type Output = Vec<ToolCall>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<ToolCall>> {
        Ok(tx.scope(&self.node.workspace).tool_calls().open_of_node(&self.node.id, OPEN_MOST).await?)
    }
}

/// Whether something was approved while the node was not there.
struct Waiting {
    node: Node,
}

impl Operation for Waiting {
    type Output = bool;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<bool> {
        Ok(tx.scope(&self.node.workspace).tool_calls().has_approved_for(&self.node.id).await?)
    }
}

struct DispatchAll {
    node: Node,
    judge: Judge,
}

impl Operation for DispatchAll {
    type Output = Vec<QueuedFor>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<QueuedFor>> {
        let workspace: &WorkspaceId = &self.node.workspace;
        let mut woken = Vec::new();
        for call in tx.scope(workspace).tool_calls().open_of_node(&self.node.id, OPEN_MOST).await? {
            if call.status == CallStatus::Approved {
                let moving = Moving { workspace, mover: Mover::For(&call), now: self.judge.now };
                woken.extend(self.judge.dispatch(tx, &moving, &call).await?.woken);
            }
        }
        Ok(woken)
    }
}
