//! The one way in which a call moves: row, approval, event and audit together, or not at all. Whoever waits for it goes on
//! in the same transaction.

use super::judging::Judged;
use crate::Result;
use crate::audit::by_house;
use crate::tasks::transitions;
use domain::approvals::{Approval, ApprovalStatus};
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::events::Event;
use domain::ids::WorkspaceId;
use domain::messages::Failure;
use domain::nodes::Node;
use domain::tasks::TaskStatus;
use domain::times::Timestamp;
use domain::tool_calls::{CallStatus, ToolCall, moved_on};
use domain::{Code, Refusal};
use store::{QueuedFor, Tx};

/// Who moves a call.
#[derive(Clone, Copy)]
pub(crate) enum Mover<'a> {
    Caller(&'a Caller),
    /// Somebody by a button in this channel.
    Presser(&'a Caller, &'a str),
    /// The machine that it was made on.
    Node(&'a Node),
    /// The house, for whoever the call is made for.
    For(&'a ToolCall),
    /// The house, because of time.
    House,
}

impl Mover<'_> {
    fn record(&self, action: &'static str, at: Timestamp) -> AuditRecord {
        match self {
            Self::Caller(caller) => AuditRecord::new(caller, action, at),
            Self::Presser(caller, channel) => AuditRecord::new(caller, action, at).with("channel", *channel),
            Self::Node(node) => {
                AuditRecord { user: node.user.clone(), ..by_house(action, at) }.with("node", node.id.as_str())
            }
            Self::For(call) => {
                let (user, participant) = (call.origin.user.clone(), call.origin.participant.clone());
                AuditRecord { user, participant, ..by_house(action, at) }
            }
            Self::House => by_house(action, at),
        }
    }
}

/// A step of calls, in one transaction.
pub(crate) struct Moving<'a> {
    pub(crate) workspace: &'a WorkspaceId,
    pub(crate) mover: Mover<'a>,
    pub(crate) now: Timestamp,
}

fn action(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Proposed => "tool_call.propose",
        CallStatus::Validated => "tool_call.validate",
        CallStatus::Invalid => "tool_call.invalid",
        CallStatus::Denied => "tool_call.deny",
        CallStatus::WaitingApproval => "tool_call.wait",
        CallStatus::Approved => "tool_call.approve",
        CallStatus::Rejected => "tool_call.reject",
        CallStatus::Expired => "tool_call.expire",
        CallStatus::Cancelled => "tool_call.cancel",
        CallStatus::Dispatched => "tool_call.dispatch",
        CallStatus::Undelivered => "tool_call.undelivered",
        CallStatus::Accepted => "tool_call.accept",
        CallStatus::Refused => "tool_call.refuse",
        CallStatus::Running => "tool_call.run",
        CallStatus::Completed => "tool_call.complete",
        CallStatus::Failed => "tool_call.fail",
        CallStatus::Unknown => "tool_call.unknown",
    }
}

impl Moving<'_> {
    /// Puts a new call on record.
    pub(crate) async fn begin(&self, tx: &mut Tx, call: &ToolCall) -> Result<()> {
        tx.scope(self.workspace).tool_calls().create(call).await?;
        self.tell(tx, call, Event::tool_call(call, self.now)).await?;
        self.record(tx, call, action(call.status));
        Ok(())
    }

    /// Moves a call from `before` to `after`; refused if it has moved meanwhile. Gives the agent whose turn goes on.
    pub(crate) async fn put(&self, tx: &mut Tx, before: &ToolCall, after: &ToolCall) -> Result<Option<QueuedFor>> {
        let after = &self.step(tx, before, after).await?;
        if after.status.has_ended() { self.wake_waiter(tx, after).await } else { Ok(None) }
    }

    /// Brings a call to an end that has a reason.
    pub(crate) async fn end(&self, tx: &mut Tx, call: &ToolCall, status: CallStatus, why: Failure) -> Result<Judged> {
        let ended = call.ended(status, Some(why), self.now)?;
        let woken = self.put(tx, call, &ended).await?;
        Ok(Judged { call: ended, woken })
    }

    /// All of a move but what follows from it for others.
    async fn step(&self, tx: &mut Tx, before: &ToolCall, after: &ToolCall) -> Result<ToolCall> {
        let after = self.consumed_if_nobody_waits(tx, after).await?;
        self.put_down(tx, before, &after).await?;
        Ok(after)
    }

    async fn put_down(&self, tx: &mut Tx, before: &ToolCall, after: &ToolCall) -> Result<()> {
        self.advance(tx, before, after).await?;
        self.end_approval(tx, before, after).await?;
        self.tell(tx, after, Event::tool_call(after, self.now)).await?;
        // What a plugin is to do, no node is told of.
        if after.status == CallStatus::Dispatched && after.delivery.node.is_some() {
            self.tell(tx, after, Event::execution_signal(after, self.now)).await?;
        }
        self.record(tx, after, action(after.status));
        Ok(())
    }

    /// Notes that whoever waited has the outcome of a call.
    pub(crate) async fn consume(&self, tx: &mut Tx, before: &ToolCall) -> Result<()> {
        let after = before.consumed()?;
        self.advance(tx, before, &after).await?;
        self.record(tx, &after, "tool_call.consume");
        Ok(())
    }

    /// The turn that made a call has ended: what has not begun is cancelled, and what has ended is nobody's any more. What is
    /// being done on somebody's machine comes to its own end.
    pub(crate) async fn abandon(&self, tx: &mut Tx, call: &ToolCall) -> Result<()> {
        if call.status.may_become(CallStatus::Cancelled) {
            let why = Failure { code: Code::Cancelled, message: "the turn that asked for it has ended".to_owned() };
            let cancelled = call.ended(CallStatus::Cancelled, Some(why), self.now)?;
            self.step(tx, call, &cancelled).await?;
        } else if call.status.has_ended() && !call.outcome.consumed {
            self.consume(tx, call).await?;
        }
        Ok(())
    }

    /// Tells a node again of a call that it has not accepted.
    pub(crate) async fn tell_again(&self, tx: &mut Tx, before: &ToolCall, after: &ToolCall) -> Result<()> {
        self.advance(tx, before, after).await?;
        if after.delivery.node.is_none() {
            return Ok(());
        }
        self.tell(tx, after, Event::execution_signal(after, self.now)).await
    }

    async fn advance(&self, tx: &mut Tx, before: &ToolCall, after: &ToolCall) -> Result<()> {
        if tx.scope(self.workspace).tool_calls().advance(after, before).await? {
            return Ok(());
        }
        let found = tx.scope(self.workspace).tool_calls().get(&before.origin.project, &before.id).await?;
        Err(found.map_or_else(Refusal::tool_call_not_found, |found| moved_on(found.status)).into())
    }

    /// A task that has ended waits for nothing.
    async fn consumed_if_nobody_waits(&self, tx: &mut Tx, call: &ToolCall) -> Result<ToolCall> {
        let Some(waiter) = call.origin.waiter.as_ref().filter(|_| call.status.has_ended()) else {
            return Ok(call.clone());
        };
        let task = tx.scope(self.workspace).tasks().get(&call.origin.project, &waiter.task).await?;
        let is_waited_for = task.is_some_and(|task| !task.status.has_ended());
        if is_waited_for || call.outcome.consumed { Ok(call.clone()) } else { Ok(call.consumed()?) }
    }

    /// An approval ends with the state of its call that it is about.
    async fn end_approval(&self, tx: &mut Tx, before: &ToolCall, after: &ToolCall) -> Result<()> {
        let status = match (before.status, after.status) {
            (CallStatus::WaitingApproval, CallStatus::Expired) => ApprovalStatus::Expired,
            (CallStatus::WaitingApproval, CallStatus::Cancelled) => ApprovalStatus::Cancelled,
            // A person's answer is put down by whoever takes it.
            _ => return Ok(()),
        };
        let Some(id) = &before.approval else { return Ok(()) };
        let Some(approval) = tx.scope(self.workspace).approvals().get(id).await? else { return Ok(()) };
        let ended = approval.ended(status, self.now)?;
        self.resolve(tx, after, &ended).await
    }

    /// Puts down how an approval ended; refused if somebody was faster.
    pub(crate) async fn resolve(&self, tx: &mut Tx, call: &ToolCall, ended: &Approval) -> Result<()> {
        if !tx.scope(self.workspace).approvals().end(ended).await? {
            return Err(moved_on(call.status).into());
        }
        self.tell(tx, call, Event::approval_resolved(call, ended, self.now)).await
    }

    /// The turn that waits goes on when the last of its calls has ended.
    async fn wake_waiter(&self, tx: &mut Tx, call: &ToolCall) -> Result<Option<QueuedFor>> {
        let Some(waiter) = &call.origin.waiter else { return Ok(None) };
        let Some(task) = tx.scope(self.workspace).tasks().get(&call.origin.project, &waiter.task).await? else {
            return Ok(None);
        };
        let calls = tx.scope(self.workspace).tool_calls().unconsumed_of_task(&task.id).await?;
        // One that still runs its turn finds the outcome by itself when it would wait.
        if task.status != TaskStatus::Waiting || calls.iter().any(|call| !call.status.has_ended()) {
            return Ok(None);
        }
        let Some(after) = task.resumed() else { return Ok(None) };
        transitions::put(tx, self.workspace, &task, &after, transitions::Mover::House, self.now).await?;
        Ok(Some(QueuedFor::of(self.workspace, &task)))
    }

    /// On the stream of the call's session; of the workspace, if it has none.
    pub(crate) async fn tell(&self, tx: &mut Tx, call: &ToolCall, event: Event) -> Result<()> {
        let session = match &call.origin.session {
            Some(id) => tx.scope(self.workspace).sessions().get(id).await?,
            None => None,
        };
        let Some(mut session) = session else {
            return Ok(tx.scope(self.workspace).events().append_workspace(&event).await?);
        };
        let id = session.id.clone();
        tx.scope(self.workspace).events().append(&id, &mut session.counters, &event);
        Ok(tx.scope(self.workspace).sessions().save(&session).await?)
    }

    fn record(&self, tx: &mut Tx, call: &ToolCall, action: &'static str) {
        let mut record = self
            .mover
            .record(action, self.now)
            .with("call", call.id.as_str())
            .with("tool", call.wish.tool.as_str())
            .with("agent", call.origin.agent.id.as_str())
            .with("on_behalf_of", call.origin.user.as_str());
        if let Some(session) = &call.origin.session {
            record = record.in_session(session);
        }
        if let Some(judgement) = &call.judgement {
            record = record.with("digest", judgement.digest.as_str());
        }
        if let Some(reason) = &call.outcome.reason {
            record = record.with("code", reason.code.as_str());
        }
        tx.scope(self.workspace).audit().append(record);
    }
}
