//! The one machine of a call: which state may follow which, and how long each may last.

use serde::{Deserialize, Serialize};

/// Time for a preview to come.
pub(super) const JUDGED_WITHIN_S: u64 = 2;
/// How long an approved call waits for its node.
pub(super) const DELIVERED_WITHIN_S: u64 = 5 * 60;
/// How long a node has to accept what it was told of before it is told again.
pub(super) const ACCEPTED_WITHIN_S: u64 = 30;
/// How much longer than its own time a call may be without a word of its outcome.
pub(super) const GRACE_S: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Risk {
    Low,
    Medium,
    High,
}

impl Risk {
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|risk| risk.as_str() == text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Wished for; a preview may be on its way.
    Proposed,
    /// Well-formed, allowed, its risk known. Lasts no longer than the transaction that finds it so.
    Validated,
    /// Not well-formed.
    Invalid,
    /// The rules of the house say no.
    Denied,
    WaitingApproval,
    Approved,
    Rejected,
    Expired,
    Cancelled,
    /// Its node was told.
    Dispatched,
    /// Its node never began.
    Undelivered,
    /// Its node has it in its journal, and may begin.
    Accepted,
    /// Its node says no.
    Refused,
    Running,
    /// It ran to its end, whatever that was.
    Completed,
    /// It broke off.
    Failed,
    /// It may have run: nobody can know.
    Unknown,
}

impl CallStatus {
    pub const ALL: [Self; 17] = [
        Self::Proposed,
        Self::Validated,
        Self::Invalid,
        Self::Denied,
        Self::WaitingApproval,
        Self::Approved,
        Self::Rejected,
        Self::Expired,
        Self::Cancelled,
        Self::Dispatched,
        Self::Undelivered,
        Self::Accepted,
        Self::Refused,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Unknown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Validated => "validated",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::WaitingApproval => "waiting_approval",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Dispatched => "dispatched",
            Self::Undelivered => "undelivered",
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether a call in this state may go on to that one.
    pub fn may_become(self, next: Self) -> bool {
        use CallStatus::{
            Accepted, Approved, Cancelled, Completed, Denied, Dispatched, Expired, Failed, Invalid, Proposed, Refused,
            Rejected, Running, Undelivered, Unknown, Validated, WaitingApproval,
        };
        match self {
            Proposed => matches!(next, Validated | Invalid | Denied | Cancelled),
            Validated => matches!(next, Approved | WaitingApproval),
            WaitingApproval => matches!(next, Approved | Rejected | Expired | Cancelled),
            Approved => matches!(next, Dispatched | Denied | Cancelled | Undelivered),
            Dispatched => matches!(next, Accepted | Refused | Undelivered | Cancelled),
            Accepted => matches!(next, Running | Unknown),
            Running => matches!(next, Completed | Failed | Unknown),
            Invalid | Denied | Rejected | Expired | Cancelled | Undelivered | Refused | Completed | Failed
            | Unknown => false,
        }
    }

    /// Whether nothing comes after it.
    pub fn has_ended(self) -> bool {
        Self::ALL.into_iter().all(|next| !self.may_become(next))
    }

    /// Whether a call that ended so has certainly not run.
    pub fn proves_that_nothing_ran(self) -> bool {
        self.has_ended() && !matches!(self, Self::Completed | Self::Failed | Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::CallStatus::{
        Accepted, Approved, Cancelled, Completed, Denied, Dispatched, Expired, Failed, Invalid, Proposed, Refused,
        Rejected, Running, Undelivered, Unknown, Validated, WaitingApproval,
    };
    use super::*;

    #[test]
    fn a_call_goes_only_the_ways_that_are_drawn() {
        let drawn = [
            (Proposed, Validated),
            (Proposed, Invalid),
            (Proposed, Denied),
            (Proposed, Cancelled),
            (Validated, Approved),
            (Validated, WaitingApproval),
            (WaitingApproval, Approved),
            (WaitingApproval, Rejected),
            (WaitingApproval, Expired),
            (WaitingApproval, Cancelled),
            (Approved, Dispatched),
            (Approved, Denied),
            (Approved, Cancelled),
            (Approved, Undelivered),
            (Dispatched, Accepted),
            (Dispatched, Refused),
            (Dispatched, Undelivered),
            (Dispatched, Cancelled),
            (Accepted, Running),
            (Accepted, Unknown),
            (Running, Completed),
            (Running, Failed),
            (Running, Unknown),
        ];
        for from in CallStatus::ALL {
            for to in CallStatus::ALL {
                assert_eq!(from.may_become(to), drawn.contains(&(from, to)), "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn the_ends_are_ends_and_most_of_them_prove_that_nothing_ran() {
        let proofs = [Invalid, Denied, Rejected, Expired, Cancelled, Undelivered, Refused];
        for status in CallStatus::ALL {
            assert_eq!(status.proves_that_nothing_ran(), proofs.contains(&status), "{status:?}");
            let is_end = proofs.contains(&status) || [Completed, Failed, Unknown].contains(&status);
            assert_eq!(status.has_ended(), is_end, "{status:?}");
            assert_eq!(CallStatus::parse(status.as_str()), Some(status));
        }
    }

    #[test]
    fn every_state_leads_to_an_end() {
        for status in CallStatus::ALL {
            let mut reached = vec![status];
            let mut at = 0;
            while at < reached.len() {
                let next = CallStatus::ALL.into_iter().filter(|next| reached[at].may_become(*next));
                let fresh: Vec<CallStatus> = next.filter(|next| !reached.contains(next)).collect();
                reached.extend(fresh);
                at += 1;
            }
            assert!(reached.iter().any(|status| status.has_ended()), "{status:?}");
        }
    }
}
