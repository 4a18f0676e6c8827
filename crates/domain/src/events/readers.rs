//! Who may see an event, where not everybody may who sees its stream. It is kept with the event, so that whoever shows it
//! has nothing to look up and nothing to forget.

use super::{EventKind, RecordedEvent};
use crate::callers::{Caller, Credential};
use crate::ids::{AgentId, NodeId, SessionId, UserId};
use crate::participants::{Participant, Patterns};
use crate::tool_calls::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Readers {
    /// Whom an access list admits.
    Participants(Patterns),
    /// Whom a call on somebody's machine concerns.
    OfCall(CallReaders),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallReaders {
    /// The person it is made for.
    user: UserId,
    agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    /// The machine it is made on, where the event is for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<NodeId>,
    /// Whether those see it, too, who decide for others.
    #[serde(default)]
    deciders: bool,
}

/// How much of an event somebody is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Whole,
    /// That there is one, so that the numbers of a stream have no gap.
    Trace,
    Nothing,
}

impl Readers {
    pub(super) fn only(participant: &Participant) -> Self {
        Self::Participants(Patterns::only(participant))
    }

    /// Whoever decides for others sees what they may decide about, and nothing of what was never asked.
    pub(super) fn of_call(kind: EventKind, call: &ToolCall) -> Self {
        let is_asked = call.approval.is_some() && call.judgement.as_ref().is_some_and(|judged| judged.for_deciders);
        let is_the_nodes = matches!(kind, EventKind::ToolExecutionSignal | EventKind::ToolResultAck);
        let is_about_the_answer = matches!(kind, EventKind::ToolApprovalRequest | EventKind::ToolApprovalResolved);
        Self::OfCall(CallReaders {
            user: call.origin.user.clone(),
            agent: call.origin.agent.id.clone(),
            session: call.origin.session.clone(),
            node: call.delivery.node.clone().filter(|_| !is_about_the_answer),
            deciders: is_asked && !is_the_nodes,
        })
    }
}

impl CallReaders {
    /// What is done for somebody on a machine is theirs, and of their agents only the one's that asked for it.
    fn admit(&self, caller: &Caller, decides_for_others: bool) -> bool {
        let is_own = self.user == caller.user;
        match &caller.credential {
            Credential::User | Credential::Operator => is_own || (self.deciders && decides_for_others),
            Credential::Session { session, .. } => is_own && self.session.as_ref() == Some(session),
            Credential::Agent { agent, session } => {
                let in_session = session.is_none() || *session == self.session;
                is_own && self.agent == agent.id && in_session
            }
            Credential::Channel { .. } | Credential::Node { .. } => false,
        }
    }
}

impl RecordedEvent {
    /// What somebody sees of it. `decides_for_others`: whether they have the right to.
    pub fn sight(&self, caller: &Caller, decides_for_others: bool) -> Sight {
        if let Credential::Node { workspace, node } = &caller.credential {
            let is_its = matches!(&self.readable_by, Some(Readers::OfCall(of)) if of.node.as_ref() == Some(node));
            return if is_its && self.workspace == *workspace { Sight::Whole } else { Sight::Nothing };
        }
        let is_of_a_call = EventKind::OF_CALLS.iter().any(|kind| kind.as_str() == self.kind);
        match &self.readable_by {
            Some(Readers::OfCall(of)) if of.admit(caller, decides_for_others) => Sight::Whole,
            Some(Readers::Participants(list)) if !list.admits(&caller.participant) => Sight::Nothing,
            // One that says of nobody whom it is for, is for nobody.
            Some(Readers::OfCall(_)) => Sight::Trace,
            _ if is_of_a_call => Sight::Trace,
            _ => Sight::Whole,
        }
    }

    /// The same event for those whom it does not concern: that a call moved, and when. All kinds look alike.
    #[must_use]
    pub fn trace(&self) -> Self {
        let told: Map<String, Value> = serde_json::from_str(&self.data).unwrap_or_default();
        let bare = ["at", "workspace", "project", "session"];
        let mut bare: Map<String, Value> =
            bare.iter().filter_map(|name| Some(((*name).to_owned(), told.get(*name)?.clone()))).collect();
        let kind = EventKind::ToolCallUpdated.as_str();
        bare.insert("type".into(), kind.into());
        Self { kind: kind.to_owned(), data: Value::Object(bare).to_string(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
