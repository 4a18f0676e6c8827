//! What the server does: every move of its call goes through the real machine.

use super::Rules;
use super::world::{Digest, Message, Outcome, Person, World, Yes};
use crate::tool_calls::CallStatus;

impl World {
    /// Moves the call if that is drawn.
    pub(super) fn move_to(&mut self, next: CallStatus) -> bool {
        let may = self.server.status.may_become(next);
        if may {
            self.forget_the_question();
            self.server.status = next;
        }
        may
    }

    /// Once it is decided, it makes no difference what else was said: worlds that differ only by it are one.
    fn forget_the_question(&mut self) {
        if self.server.status == CallStatus::WaitingApproval {
            self.person = Person { said_yes: self.person.said_yes, ..Person::default() };
            self.server.is_late = false;
        }
    }

    pub(super) fn judge(&mut self) {
        if self.move_to(CallStatus::Validated) {
            self.move_to(if self.call.is_low { CallStatus::Approved } else { CallStatus::WaitingApproval });
        }
    }

    pub(super) fn cancel(&mut self, rules: Rules) {
        if !self.move_to(CallStatus::Cancelled) && !rules.asks_the_machine && !self.server.status.has_ended() {
            self.server.status = CallStatus::Cancelled;
        }
    }

    pub(super) fn dispatch(&mut self) {
        if self.move_to(CallStatus::Dispatched) {
            self.server.attempt = 1;
            self.send(Message::Told(1));
        }
    }

    pub(super) fn tell_again(&mut self) {
        if self.server.status == CallStatus::Dispatched {
            self.send(Message::Told(self.server.attempt));
        }
    }

    /// More than the house does today: it would have to be safe as well.
    pub(super) fn tell_the_other_node(&mut self) {
        if self.server.status == CallStatus::Dispatched && self.server.attempt == 1 {
            self.server.attempt = 2;
            self.send(Message::Told(2));
        }
    }

    /// What the timer does with a call whose time is over.
    pub(super) fn give_up(&mut self) {
        match self.server.status {
            CallStatus::WaitingApproval if self.server.is_late => self.move_to(CallStatus::Expired),
            CallStatus::Approved | CallStatus::Dispatched => self.move_to(CallStatus::Undelivered),
            CallStatus::Accepted | CallStatus::Running => self.move_to(CallStatus::Unknown),
            _ => false,
        };
    }

    /// By the end of its call, by a look after a restart, and once too often by either.
    pub(super) fn wake(&mut self) {
        self.server.is_resuming |= self.server.status.has_ended();
    }

    pub(super) fn take_outcome(&mut self, rules: Rules) {
        if !self.server.is_resuming {
            return;
        }
        self.server.is_resuming = false;
        if !self.server.is_consumed || !rules.consumes_once {
            self.server.is_consumed = true;
            self.server.consumptions += 1;
        }
    }

    pub(super) fn server_hears(&mut self, message: Message, rules: Rules) {
        match message {
            Message::Approve(digest) => self.hear_yes(digest, rules),
            Message::Reject => {
                self.move_to(CallStatus::Rejected);
            }
            Message::Accept(node, attempt) => {
                let is_known = self.passes_fence(node, attempt, rules);
                let is_again = matches!(self.server.status, CallStatus::Accepted | CallStatus::Running);
                let says_yes = is_known && (is_again || self.move_to(CallStatus::Accepted));
                self.send(if says_yes { Message::Yes(node, attempt) } else { Message::No(node, attempt) });
            }
            Message::Refuse(node, attempt) if self.passes_fence(node, attempt, rules) => {
                self.move_to(CallStatus::Refused);
            }
            Message::Started(node, attempt) if self.passes_fence(node, attempt, rules) => {
                self.move_to(CallStatus::Running);
            }
            Message::Result(node, attempt, outcome) if self.passes_fence(node, attempt, rules) => {
                self.move_to(CallStatus::Running);
                self.move_to(match outcome {
                    Outcome::Done => CallStatus::Completed,
                    Outcome::BrokeOff => CallStatus::Failed,
                    Outcome::Unknown => CallStatus::Unknown,
                });
            }
            _ => {}
        }
    }

    fn hear_yes(&mut self, digest: Digest, rules: Rules) {
        let is_bound = digest == Digest::Right || !rules.binds_digest;
        let is_in_time = !self.server.is_late || !rules.heeds_expiry;
        let yes = Yes { digest, was_late: self.server.is_late };
        if is_bound && is_in_time && self.move_to(CallStatus::Approved) {
            self.server.approved_by = Some(yes);
        }
    }

    fn passes_fence(&self, node: u8, attempt: u8, rules: Rules) -> bool {
        !rules.has_fence || (attempt == self.server.attempt && node + 1 == attempt)
    }
}
