//! Events about nodes and what is done on them. Ids and states, never arguments or results.

use super::{Event, EventKind, Readers};
use crate::approvals::Approval;
use crate::nodes::{Node, Serves};
use crate::participants::Participant;
use crate::times::Timestamp;
use crate::tool_calls::ToolCall;
use crate::worker_spaces::Alert;
use serde_json::{Value, json};

impl Event {
    /// A node that has come or gone.
    pub fn node(node: &Node, online: bool, at: Timestamp) -> Self {
        let kind = if online { EventKind::NodeOnline } else { EventKind::NodeOffline };
        let project = match &node.serves {
            Serves::Project(project) => Some(project),
            Serves::Members => None,
        };
        let fields = [("node", json!(node.id)), ("name", json!(node.name)), ("user", json!(node.user))];
        // Somebody's own machine is nobody else's business.
        let readable_by = project.map(|_| Readers::only(&Participant::of_user(&node.user)));
        Self { readable_by, ..Self::plain(kind, at, project, None, fields) }
    }

    /// The alert that a node is gone, for those who hear that it is.
    pub fn node_lost(node: &Node, at: Timestamp) -> Self {
        let gone = Self::node(node, false, at);
        let message = format!("nothing was heard of the machine {} for a while", node.name);
        let alert = Self::alert(Alert::NodeLost, node.id.as_str(), &message, gone.project.as_ref(), at);
        Self { readable_by: gone.readable_by, ..alert }
    }

    /// Every event about a call is made here, and so for nobody but those whom the call concerns.
    fn about_call(
        kind: EventKind,
        call: &ToolCall,
        at: Timestamp,
        own: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Self {
        let origin = &call.origin;
        let fields = [
            ("call", json!(call.id)),
            ("tool", json!(call.wish.tool)),
            ("agent", json!(origin.agent.name)),
            ("on_behalf_of", json!(origin.user)),
        ];
        let told = Self::plain(kind, at, Some(&origin.project), origin.session.as_ref(), fields.into_iter().chain(own));
        Self { readable_by: Some(Readers::of_call(kind, call)), ..told }
    }

    /// A call that has come into the state it is in.
    pub fn tool_call(call: &ToolCall, at: Timestamp) -> Self {
        let own = [
            ("status", json!(call.status)),
            ("risk", json!(call.judgement.as_ref().map(|judgement| judgement.risk))),
            ("approval", json!(call.approval)),
            ("node", json!(call.delivery.node)),
            ("task", json!(call.origin.waiter.as_ref().map(|waiter| &waiter.task))),
            ("reason", json!(call.outcome.reason.as_ref().map(|reason| reason.code))),
        ];
        Self::about_call(EventKind::ToolCallUpdated, call, at, own)
    }

    /// Somebody has to decide.
    pub fn approval_request(call: &ToolCall, approval: &Approval, at: Timestamp) -> Self {
        let own = [
            ("approval", json!(approval.id)),
            ("risk", json!(call.judgement.as_ref().map(|judgement| judgement.risk))),
            ("digest", json!(approval.digest)),
            ("expires_at", json!(approval.expires_at)),
        ];
        Self::about_call(EventKind::ToolApprovalRequest, call, at, own)
    }

    /// Nobody has to decide any more.
    pub fn approval_resolved(call: &ToolCall, approval: &Approval, at: Timestamp) -> Self {
        let by = approval.decided.as_ref().and_then(|decided| decided.by.as_ref());
        let own = [("approval", json!(approval.id)), ("status", json!(approval.status)), ("decided_by", json!(by))];
        Self::about_call(EventKind::ToolApprovalResolved, call, at, own)
    }

    /// There is something for a node to do. A hint: what, it asks.
    pub fn execution_signal(call: &ToolCall, at: Timestamp) -> Self {
        let own = [("node", json!(call.delivery.node)), ("attempt", json!(call.delivery.attempt))];
        Self::about_call(EventKind::ToolExecutionSignal, call, at, own)
    }

    /// What a node brought back is on disk.
    pub fn result_ack(call: &ToolCall, at: Timestamp) -> Self {
        let own = [
            ("node", json!(call.delivery.node)),
            ("attempt", json!(call.delivery.attempt)),
            ("status", json!(call.status)),
        ];
        Self::about_call(EventKind::ToolResultAck, call, at, own)
    }
}
