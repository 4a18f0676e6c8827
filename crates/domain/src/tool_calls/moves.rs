//! The call as it stands after each step. Every move of the house is made here and checked against the one machine; none
//! can be written down that is not drawn there.

use super::states::{ACCEPTED_WITHIN_S, CallStatus, DELIVERED_WITHIN_S, GRACE_S, JUDGED_WITHIN_S};
use super::{CallOrigin, CallOutcome, CallTimes, Delivery, Judgement, ToolCall, Wish};
use crate::ids::{ApprovalId, NodeId, ToolCallId};
use crate::messages::Failure;
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};

/// Who says something about a call that was dispatched, and of which telling.
#[derive(Debug, Clone, Copy)]
pub struct Deliver<'a> {
    /// None is the house itself, which calls plugins.
    pub node: Option<&'a NodeId>,
    pub attempt: u64,
}

impl ToolCall {
    /// `node`: who would be asked for a preview.
    pub fn proposed(id: ToolCallId, origin: CallOrigin, wish: Wish, node: Option<NodeId>, now: Timestamp) -> Self {
        Self {
            id,
            origin,
            wish,
            status: CallStatus::Proposed,
            judgement: None,
            approval: None,
            delivery: Delivery { node, attempt: 0 },
            outcome: CallOutcome::default(),
            times: CallTimes { created_at: now, deadline_at: Some(now.plus_seconds(JUDGED_WITHIN_S)), ended_at: None },
        }
    }

    /// It is valid and allowed; `node` is who would do it, none is the house itself.
    pub fn validated(&self, judgement: Judgement, node: Option<NodeId>) -> Result<Self> {
        let delivery = Delivery { node, ..self.delivery.clone() };
        Ok(Self { judgement: Some(judgement), delivery, ..self.moved(CallStatus::Validated)? })
    }

    /// A person has as long as the judgement holds.
    pub fn waiting_for(&self, approval: ApprovalId, now: Timestamp) -> Result<Self> {
        let expires_at = self.judgement.as_ref().map_or(now, |judgement| judgement.expires_at);
        let waiting = self.moved(CallStatus::WaitingApproval)?;
        let times = CallTimes { deadline_at: Some(expires_at), ..waiting.times };
        Ok(Self { approval: Some(approval), times, ..waiting })
    }

    pub fn approved(&self, now: Timestamp) -> Result<Self> {
        Ok(self.moved(CallStatus::Approved)?.until(now, DELIVERED_WITHIN_S))
    }

    /// Its node is told, once more than before.
    pub fn dispatched(&self, now: Timestamp) -> Result<Self> {
        let delivery = Delivery { attempt: self.delivery.attempt + 1, ..self.delivery.clone() };
        Ok(Self { delivery, ..self.moved(CallStatus::Dispatched)? }.until(now, ACCEPTED_WITHIN_S))
    }

    /// Its node is told again of the same: an acceptance of the first telling still counts.
    pub fn told_again(&self, now: Timestamp) -> Result<Self> {
        if self.status != CallStatus::Dispatched {
            return Err(moved_on(self.status));
        }
        Ok(self.clone().until(now, ACCEPTED_WITHIN_S))
    }

    /// Its node may begin. `own_s`: what the tool itself may take.
    pub fn accepted(&self, by: Deliver<'_>, own_s: u64, now: Timestamp) -> Result<Self> {
        self.require_delivered_to(by)?;
        Ok(self.moved(CallStatus::Accepted)?.until(now, own_s + GRACE_S))
    }

    pub fn refused(&self, by: Deliver<'_>, reason: Failure, now: Timestamp) -> Result<Self> {
        self.require_delivered_to(by)?;
        self.ended(CallStatus::Refused, Some(reason), now)
    }

    pub fn running(&self, by: Deliver<'_>) -> Result<Self> {
        self.require_delivered_to(by)?;
        self.moved(CallStatus::Running)
    }

    /// What its node brought back; `broke_off` if it did not come to its own end.
    pub fn brought_back(&self, by: Deliver<'_>, result: String, broke_off: bool, now: Timestamp) -> Result<Self> {
        self.require_delivered_to(by)?;
        let status = if broke_off { CallStatus::Failed } else { CallStatus::Completed };
        let ended = self.ended(status, None, now)?;
        let outcome = CallOutcome { result: Some(result), ..ended.outcome };
        Ok(Self { outcome, ..ended })
    }

    /// The house called a plugin, and either nothing was run or nobody can know.
    pub fn came_to_nothing(&self, may_have_run: bool, reason: Failure, now: Timestamp) -> Result<Self> {
        let by = Deliver { node: None, attempt: self.delivery.attempt };
        self.require_delivered_to(by)?;
        self.ended(if may_have_run { CallStatus::Unknown } else { CallStatus::Failed }, Some(reason), now)
    }

    /// Its node cannot say whether it was done.
    pub fn lost(&self, by: Deliver<'_>, now: Timestamp) -> Result<Self> {
        self.require_delivered_to(by)?;
        let message = "the node cannot tell whether it was done".to_owned();
        self.ended(CallStatus::Unknown, Some(Failure { code: Code::Interrupted, message }), now)
    }

    /// The call as it stands at an end, with the reason for it. One that nobody waits for is consumed by that.
    pub fn ended(&self, status: CallStatus, reason: Option<Failure>, now: Timestamp) -> Result<Self> {
        let call = self.moved(status)?;
        if !status.has_ended() {
            return Err(moved_on(self.status));
        }
        let times = CallTimes { deadline_at: None, ended_at: Some(now), ..call.times };
        let consumed = call.origin.waiter.is_none();
        Ok(Self { times, outcome: CallOutcome { reason, consumed, ..call.outcome }, ..call })
    }

    /// Whoever waited has the outcome. Once only.
    pub fn consumed(&self) -> Result<Self> {
        if !self.status.has_ended() || self.outcome.consumed {
            return Err(moved_on(self.status));
        }
        Ok(Self { outcome: CallOutcome { consumed: true, ..self.outcome.clone() }, ..self.clone() })
    }

    /// What a node says counts only if it is the one that was told, and of the newest telling.
    fn require_delivered_to(&self, by: Deliver<'_>) -> Result<()> {
        if self.delivery.node.as_ref() == by.node && self.delivery.attempt == by.attempt {
            return Ok(());
        }
        Err(moved_on(self.status))
    }

    fn moved(&self, next: CallStatus) -> Result<Self> {
        if !self.status.may_become(next) {
            return Err(moved_on(self.status));
        }
        Ok(Self { status: next, ..self.clone() })
    }

    fn until(self, now: Timestamp, seconds: u64) -> Self {
        Self { times: CallTimes { deadline_at: Some(now.plus_seconds(seconds)), ..self.times }, ..self }
    }
}

/// Somebody was faster, or this is an answer to an earlier question.
pub fn moved_on(status: CallStatus) -> Refusal {
    let message = format!("the call is {} by now: this comes too late, or from somebody else", status.as_str());
    Refusal::new(Code::CallMovedOn, message).with("status", status.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::{Risk, Waiter};
    use super::*;
    use crate::ids::{AgentId, ProjectId, TaskId, UserId};
    use crate::messages::NamedAgent;
    use crate::participants::Participant;

    fn now() -> Timestamp {
        Timestamp::from_ms(1_000)
    }

    fn call(waiter: Option<Waiter>) -> ToolCall {
        let user = UserId::parse("sean").unwrap();
        let origin = CallOrigin {
            project: ProjectId::from_trusted("prj_1".into()),
            session: None,
            agent: NamedAgent { id: AgentId::from_trusted("agt_1".into()), name: "coder".into() },
            participant: Participant::of_user(&user),
            user,
            waiter,
        };
        let wish = Wish { tool: "tool_write_file".into(), params: "{}".into(), node: None };
        ToolCall::proposed(ToolCallId::from_trusted("call_1".into()), origin, wish, None, now())
    }

    fn judged(seconds: u64) -> Judgement {
        Judgement {
            risk: Risk::Medium,
            reasons: vec!["it writes".into()],
            digest: "d".into(),
            policy_epoch: 1,
            expires_at: now().plus_seconds(seconds),
            network: false,
            preview: None,
            plugin: None,
            session_knew: None,
            for_deciders: false,
        }
    }

    fn node(name: &str) -> NodeId {
        NodeId::from_trusted(format!("nod_{name}"))
    }

    fn dispatched() -> ToolCall {
        let call = call(None).validated(judged(300), Some(node("a"))).unwrap();
        call.approved(now()).unwrap().dispatched(now()).unwrap()
    }

    #[test]
    fn only_the_node_that_was_told_is_heard_and_only_of_the_newest_telling() {
        let (a, b) = (node("a"), node("b"));
        let call = dispatched();
        for (by, expected) in [
            (Deliver { node: Some(&a), attempt: 1 }, true),
            (Deliver { node: Some(&a), attempt: 0 }, false),
            (Deliver { node: Some(&a), attempt: 2 }, false),
            (Deliver { node: Some(&b), attempt: 1 }, false),
        ] {
            assert_eq!(call.accepted(by, 30, now()).is_ok(), expected, "{by:?}");
            let running = call.accepted(Deliver { node: Some(&a), attempt: 1 }, 30, now()).unwrap();
            let running = running.running(Deliver { node: Some(&a), attempt: 1 }).unwrap();
            assert_eq!(running.brought_back(by, "{}".into(), false, now()).is_ok(), expected, "{by:?}");
            assert_eq!(running.lost(by, now()).is_ok(), expected, "{by:?}");
        }
    }

    #[test]
    fn what_the_house_calls_by_itself_no_node_can_speak_for_and_the_other_way_round() {
        let own = call(None).validated(judged(300), None).unwrap().approved(now()).unwrap().dispatched(now()).unwrap();
        let (house, a) = (Deliver { node: None, attempt: 1 }, node("a"));
        assert!(own.accepted(Deliver { node: Some(&a), attempt: 1 }, 60, now()).is_err());
        assert!(dispatched().accepted(house, 60, now()).is_err());
        let running = own.accepted(house, 60, now()).unwrap().running(house).unwrap();
        assert_eq!(running.times.deadline_at, Some(now().plus_seconds(60 + GRACE_S)));
        let why = || Failure { code: Code::PluginUnavailable, message: "away".into() };
        for (may_have_run, status) in [(false, CallStatus::Failed), (true, CallStatus::Unknown)] {
            let ended = running.came_to_nothing(may_have_run, why(), now()).unwrap();
            assert_eq!((ended.status, ended.outcome.consumed), (status, true));
            assert!(ended.came_to_nothing(may_have_run, why(), now()).is_err(), "an end is an end");
        }
    }

    #[test]
    fn what_was_cancelled_can_no_longer_be_accepted() {
        let cancelled = dispatched().ended(CallStatus::Cancelled, None, now()).unwrap();
        let refusal = cancelled.accepted(Deliver { node: Some(&node("a")), attempt: 1 }, 30, now()).unwrap_err();
        assert_eq!((refusal.code, &refusal.details["status"]), (Code::CallMovedOn, &"cancelled".into()));
    }

    #[test]
    fn an_outcome_is_consumed_once_and_at_once_if_nobody_waits() {
        assert!(dispatched().ended(CallStatus::Undelivered, None, now()).unwrap().outcome.consumed);
        let waiter = Waiter { task: TaskId::from_trusted("tsk_1".into()), call: "c1".into() };
        let waiting = call(Some(waiter));
        assert!(waiting.consumed().is_err(), "it has not ended");
        let ended = waiting.ended(CallStatus::Invalid, None, now()).unwrap();
        assert!(!ended.outcome.consumed);
        let consumed = ended.consumed().unwrap();
        assert!(consumed.outcome.consumed);
        assert!(consumed.consumed().is_err());
    }

    #[test]
    fn each_state_has_its_time_and_an_end_has_none() {
        let at = |call: &ToolCall| call.times.deadline_at.map(|at| (at.as_ms() - now().as_ms()) / 1000);
        let proposed = call(None);
        assert_eq!(at(&proposed), Some(2));
        for seconds in [10, 300, 86_400] {
            let waiting = proposed.validated(judged(seconds), Some(node("a"))).unwrap();
            let waiting = waiting.waiting_for(ApprovalId::from_trusted("apr_1".into()), now()).unwrap();
            assert_eq!(at(&waiting), Some(i64::try_from(seconds).unwrap()));
            assert_eq!(at(&waiting.approved(now()).unwrap()), Some(300));
            assert_eq!(at(&waiting.ended(CallStatus::Expired, None, now()).unwrap()), None);
        }
        let accepted = dispatched().accepted(Deliver { node: Some(&node("a")), attempt: 1 }, 30, now()).unwrap();
        assert_eq!(at(&accepted), Some(90));
    }
}
