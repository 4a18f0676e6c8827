//! Routing: from what a channel told to a person, a workspace and a session there, or to a refusal with its reason.
//!
//! One function over facts, so that the door that routes and the door that only explains say the same. A sender is known
//! by the provider's own id alone; a group that is bound to nothing leads nowhere, or any group that a bot is added to
//! would reach what is private.

#[cfg(test)]
mod reference;

use crate::agents::Agent;
use crate::channels::ChatType;
use crate::ids::{SessionId, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};

/// Why a message was not routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReasonCode {
    UnknownSender,
    UnboundGroup,
    NotAMember,
    /// The same message was taken before.
    Duplicate,
    BudgetExceeded,
}

impl ReasonCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownSender => "UNKNOWN_SENDER",
            Self::UnboundGroup => "UNBOUND_GROUP",
            Self::NotAMember => "NOT_A_MEMBER",
            Self::Duplicate => "DUPLICATE",
            Self::BudgetExceeded => "BUDGET_EXCEEDED",
        }
    }
}

/// One look on the way, in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepName {
    /// Whether the message was taken before.
    Duplicate,
    Sender,
    Binding,
    Membership,
    Session,
    /// Who answers, and whether it can be paid for.
    Agent,
}

impl StepName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Sender => "sender",
            Self::Binding => "binding",
            Self::Membership => "membership",
            Self::Session => "session",
            Self::Agent => "agent",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub step: StepName,
    /// None if it let the message on.
    pub refused: Option<ReasonCode>,
    pub detail: String,
}

impl Step {
    pub fn outcome(&self) -> &'static str {
        if self.refused.is_some() { "refused" } else { "passed" }
    }
}

/// What the house knows about a message that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub chat: ChatType,
    /// Whose account the provider's id is.
    pub sender: Option<UserId>,
    /// Where the place belongs.
    pub bound: Option<WorkspaceId>,
    /// Whether the sender is a member of the workspace that `destination` names.
    pub is_member: bool,
    /// The live session that the workspace has for this place.
    pub session: Option<SessionId>,
}

/// Where a message goes, and on whose behalf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub user: UserId,
    pub workspace: WorkspaceId,
    /// None: the next message begins one.
    pub session: Option<SessionId>,
}

/// What was decided, and by which steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routing {
    pub decision: Result<Route, ReasonCode>,
    pub steps: Vec<Step>,
}

/// The workspace of a place: the one it is bound to; of a direct chat that is bound to none, the sender's own.
pub fn destination(chat: ChatType, sender: &UserId, bound: Option<&WorkspaceId>) -> Option<WorkspaceId> {
    match (bound, chat) {
        (Some(workspace), _) => Some(workspace.clone()),
        (None, ChatType::Direct) => Some(WorkspaceId::personal(sender)),
        (None, ChatType::Group) => None,
    }
}

/// Takes the steps one after another; the first that refuses is the last.
pub fn decide(facts: &Facts) -> Routing {
    let mut steps = Vec::with_capacity(4);
    let decision = walk(facts, &mut steps);
    Routing { decision, steps }
}

fn walk(facts: &Facts, steps: &mut Vec<Step>) -> Result<Route, ReasonCode> {
    let Some(user) = &facts.sender else {
        return refuse(
            steps,
            StepName::Sender,
            ReasonCode::UnknownSender,
            "the provider's id of the sender is nobody's",
        );
    };
    pass(steps, StepName::Sender, format!("the provider's id of the sender is {user}'s"));
    let Some(workspace) = destination(facts.chat, user, facts.bound.as_ref()) else {
        let detail = "the group is bound to no workspace, and no group leads to anybody's own";
        return refuse(steps, StepName::Binding, ReasonCode::UnboundGroup, detail);
    };
    let how = if facts.bound.is_some() { "the place is bound to" } else { "a direct chat bound to nothing leads to" };
    pass(steps, StepName::Binding, format!("{how} {workspace}"));
    if !facts.is_member {
        let detail = format!("{user} is no member of {workspace}");
        return refuse(steps, StepName::Membership, ReasonCode::NotAMember, &detail);
    }
    pass(steps, StepName::Membership, format!("{user} is a member of {workspace}"));
    let detail = match &facts.session {
        Some(session) => format!("the place's session is {session}"),
        None => "the place has no session yet: the message begins one".to_owned(),
    };
    pass(steps, StepName::Session, detail);
    Ok(Route { user: user.clone(), workspace, session: facts.session.clone() })
}

fn pass(steps: &mut Vec<Step>, step: StepName, detail: String) {
    steps.push(Step { step, refused: None, detail });
}

fn refuse<T>(steps: &mut Vec<Step>, step: StepName, why: ReasonCode, detail: &str) -> Result<T, ReasonCode> {
    steps.push(Step { step, refused: Some(why), detail: detail.to_owned() });
    Err(why)
}

impl Routing {
    /// A message that was taken before: nothing else is looked at.
    pub fn duplicate() -> Self {
        let mut steps = Vec::new();
        let detail = "this message was taken before: it starts nothing again";
        let decision = refuse(&mut steps, StepName::Duplicate, ReasonCode::Duplicate, detail);
        Self { decision, steps }
    }

    /// The last step: who answers.
    #[must_use]
    pub fn answered_by(mut self, agent: &str) -> Self {
        pass(
            &mut self.steps,
            StepName::Agent,
            format!("{agent} answers, with the workspace's tools, skills and model"),
        );
        self
    }

    /// The last step: there is no money for an answer.
    #[must_use]
    pub fn unpaid(mut self, sentence: &str) -> Self {
        self.decision = refuse(&mut self.steps, StepName::Agent, ReasonCode::BudgetExceeded, sentence);
        self
    }
}

/// Who answers in a channel: of the home project's agents the first starter that is still there, else the oldest. Until
/// an orchestrator chooses.
pub fn answerer(agents: &[Agent]) -> Option<&Agent> {
    let starters = crate::agents::starter_pack(None);
    let starter = starters.iter().find_map(|shape| agents.iter().find(|agent| agent.name == shape.name));
    starter.or_else(|| agents.iter().min_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserId {
        UserId::parse(name).unwrap()
    }

    fn workspace(name: &str) -> WorkspaceId {
        WorkspaceId::parse(name).unwrap()
    }

    fn facts(chat: ChatType, sender: Option<&str>, bound: Option<&str>, is_member: bool) -> Facts {
        Facts { chat, sender: sender.map(user), bound: bound.map(workspace), is_member, session: None }
    }

    #[test]
    fn the_five_steps_lead_where_the_table_says() {
        use ChatType::{Direct, Group};
        use ReasonCode::{NotAMember, UnboundGroup, UnknownSender};
        let table = [
            (facts(Group, Some("sean"), Some("homelab"), true), Ok("homelab"), 4),
            (facts(Direct, Some("sean"), Some("homelab"), true), Ok("homelab"), 4),
            (facts(Direct, Some("sean"), None, true), Ok("personal-usr_sean"), 4),
            (facts(Group, Some("sean"), None, true), Err(UnboundGroup), 2),
            (facts(Group, Some("wife"), Some("homelab"), false), Err(NotAMember), 3),
            // Their own workspace has been closed to somebody who is out.
            (facts(Direct, Some("wife"), None, false), Err(NotAMember), 3),
            (facts(Direct, None, Some("homelab"), true), Err(UnknownSender), 1),
            (facts(Direct, None, None, true), Err(UnknownSender), 1),
            (facts(Group, None, None, false), Err(UnknownSender), 1),
        ];
        for (facts, expected, steps) in table {
            let routing = decide(&facts);
            let got = routing.decision.as_ref().map(|route| route.workspace.as_str()).map_err(|why| *why);
            assert_eq!((got, routing.steps.len()), (expected, steps), "{facts:?}");
            let refused: Vec<_> = routing.steps.iter().filter_map(|step| step.refused).collect();
            assert_eq!(refused, expected.err().into_iter().collect::<Vec<_>>(), "the last step says why");
        }
    }

    #[test]
    fn a_session_that_is_there_is_named_and_another_is_begun() {
        let session = SessionId::parse("ses_1").unwrap();
        let with =
            Facts { session: Some(session.clone()), ..facts(ChatType::Group, Some("sean"), Some("homelab"), true) };
        let routing = decide(&with);
        assert_eq!(routing.decision.unwrap().session, Some(session));
        assert!(routing.steps[3].detail.contains("ses_1"));
    }

    #[test]
    fn money_is_the_last_step_and_a_duplicate_the_only_one() {
        let routing = decide(&facts(ChatType::Group, Some("sean"), Some("homelab"), true)).unpaid("nothing is left");
        assert_eq!(routing.decision, Err(ReasonCode::BudgetExceeded));
        assert_eq!(routing.steps.len(), 5);
        let again = Routing::duplicate();
        assert_eq!((again.decision, again.steps.len()), (Err(ReasonCode::Duplicate), 1));
    }
}
