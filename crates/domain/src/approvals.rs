//! A person's yes or no to one call, and who may say it.

use crate::callers::{Caller, Credential};
use crate::ids::{ApprovalId, ProjectId, ToolCallId, UserId};
use crate::node_tools::NodeRequest;
use crate::times::Timestamp;
use crate::tool_calls::Preview;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

pub const NOTE_LONGEST: usize = 1_000;
/// The longest change that is put before a person.
pub const SHOWN_LARGEST_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    Pending,
    Approved,
    Rejected,
    Expired,
    Cancelled,
}

impl ApprovalStatus {
    pub const ALL: [Self; 5] = [Self::Pending, Self::Approved, Self::Rejected, Self::Expired, Self::Cancelled];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub id: ApprovalId,
    pub project: ProjectId,
    pub call: ToolCallId,
    /// On whose behalf the call would be made.
    pub user: UserId,
    /// Of what is shown: a yes is to these bytes and to no others.
    pub digest: String,
    pub status: ApprovalStatus,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    pub decided: Option<Decided>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// None if no person did.
    pub by: Option<UserId>,
    pub at: Timestamp,
    /// Why, in their own words.
    pub note: Option<String>,
}

impl Approval {
    /// The approval as a person leaves it. The first answer stands; one that comes too late is no answer.
    pub fn decided(&self, by: &UserId, status: ApprovalStatus, note: Option<String>, now: Timestamp) -> Result<Self> {
        self.require_pending()?;
        if now >= self.expires_at {
            return Err(
                Refusal::new(Code::Expired, "the time to decide is over").with("expires_at", json(self.expires_at))
            );
        }
        Ok(Self { status, decided: Some(Decided { by: Some(by.clone()), at: now, note }), ..self.clone() })
    }

    /// The approval as it ends without a person.
    pub fn ended(&self, status: ApprovalStatus, now: Timestamp) -> Result<Self> {
        self.require_pending()?;
        Ok(Self { status, decided: Some(Decided { by: None, at: now, note: None }), ..self.clone() })
    }

    fn require_pending(&self) -> Result<()> {
        if self.status == ApprovalStatus::Pending {
            return Ok(());
        }
        let decided = self.decided.as_ref();
        let by = decided.and_then(|decided| decided.by.as_ref());
        let who = by.map_or_else(String::new, |user| format!(" by {user}"));
        let message = format!("this was decided already: it is {}{who}", self.status.as_str());
        let mut refusal = Refusal::new(Code::AlreadyDecided, message).with("status", self.status.as_str());
        if let Some(by) = by {
            refusal = refusal.with("decided_by", by.as_str());
        }
        if let Some(decided) = decided {
            refusal = refusal.with("decided_at", json(decided.at));
        }
        Err(refusal)
    }

    /// What was shown is what is decided about.
    pub fn require_digest(&self, shown: Option<&str>) -> Result<()> {
        match shown {
            Some(shown) if shown != self.digest => {
                let message = "what you were shown is not what would be done: look at it again";
                Err(Refusal::new(Code::DigestMismatch, message).with("digest", self.digest.as_str()))
            }
            _ => Ok(()),
        }
    }
}

fn json(at: Timestamp) -> serde_json::Value {
    serde_json::json!(at)
}

/// Whether whoever asks may decide. `owns_node`: whether the call would run on a machine that another person paired for
/// themselves. People only, by their own credential: an agent never says yes to itself.
pub fn may_decide(
    caller: &Caller,
    on_behalf_of: &UserId,
    has_right: bool,
    on_own_node_of: Option<&UserId>,
) -> Result<()> {
    if !matches!(caller.credential, Credential::User | Credential::Operator) {
        return Err(Refusal::forbidden("people decide about calls, by a token of their own"));
    }
    let is_theirs = caller.user == *on_behalf_of;
    let others_node = on_own_node_of.is_some_and(|owner| *owner != caller.user);
    if is_theirs || (has_right && !others_node) {
        return Ok(());
    }
    Err(Refusal::forbidden("only the person it is done for, or somebody with the right `approve`, decides about this"))
}

/// Whether nobody could see all of what a call would change: then nobody is asked. A file that goes is shown by its name.
pub fn is_shown_in_part(request: &NodeRequest, preview: Option<&Preview>) -> bool {
    let text_bytes = match request {
        NodeRequest::Write(write) => write.content.len(),
        NodeRequest::Edit { old, new, .. } => old.len().max(new.len()),
        NodeRequest::Delete { .. } => return preview.is_some_and(|preview| preview.diff_cut),
        NodeRequest::Read { .. } | NodeRequest::List { .. } | NodeRequest::Execute(_) => return false,
    };
    let is_cut = |found: &Preview| found.diff_cut || found.no_diff.as_deref() == Some(Preview::TOO_LONG);
    // Without a diff the arguments are all there is to see.
    let has_diff = preview.is_some_and(|found| found.diff.is_some());
    preview.is_some_and(is_cut) || (!has_diff && text_bytes > SHOWN_LARGEST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::AgentRef;
    use crate::ids::{AgentId, SessionId, WorkspaceId};
    use crate::participants::Participant;
    use crate::roles::Role;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn user(name: &str) -> UserId {
        UserId::parse(name).unwrap()
    }

    fn pending() -> Approval {
        Approval {
            id: ApprovalId::from_trusted("apr_1".into()),
            project: ProjectId::from_trusted("prj_1".into()),
            call: ToolCallId::from_trusted("call_1".into()),
            user: user("sean"),
            digest: "abc".into(),
            status: ApprovalStatus::Pending,
            requested_at: at(0),
            expires_at: at(1_000),
            decided: None,
        }
    }

    #[test]
    fn the_first_answer_stands_and_the_second_is_told_who_and_when() {
        let approved = pending().decided(&user("sean"), ApprovalStatus::Approved, None, at(5)).unwrap();
        for late in [
            approved.decided(&user("mary"), ApprovalStatus::Rejected, None, at(6)),
            approved.ended(ApprovalStatus::Expired, at(6)),
        ] {
            let refusal = late.unwrap_err();
            assert_eq!(refusal.code, Code::AlreadyDecided);
            assert_eq!(refusal.details["decided_by"], "usr_sean");
            assert_eq!(refusal.details["decided_at"], "1970-01-01T00:00:00.005Z");
        }
    }

    #[test]
    fn an_answer_after_the_time_is_none() {
        let decide = |ms| pending().decided(&user("sean"), ApprovalStatus::Approved, None, at(ms));
        assert!(decide(999).is_ok());
        assert_eq!(decide(1_000).unwrap_err().code, Code::Expired);
    }

    #[test]
    fn a_yes_is_to_what_was_shown() {
        assert!(pending().require_digest(None).is_ok());
        assert!(pending().require_digest(Some("abc")).is_ok());
        assert_eq!(pending().require_digest(Some("abd")).unwrap_err().code, Code::DigestMismatch);
    }

    #[test]
    fn people_decide_for_themselves_or_by_right_and_agents_never() {
        let caller = |name: &str, credential: Credential| Caller {
            user: user(name),
            role: Role::Member,
            participant: Participant::of_user(&user(name)),
            credential,
        };
        let agent = Credential::Agent {
            agent: AgentRef {
                workspace: WorkspaceId::from_trusted("w".into()),
                project: ProjectId::from_trusted("prj_1".into()),
                id: AgentId::from_trusted("agt_1".into()),
            },
            session: None,
        };
        let session = Credential::Session {
            workspace: WorkspaceId::from_trusted("w".into()),
            session: SessionId::from_trusted("s".into()),
        };
        let channel = Credential::Channel { channel: "http".into() };
        let sean = user("sean");
        for (name, credential, has_right, node_of, expected) in [
            ("sean", Credential::User, false, None, true),
            ("sean", Credential::Operator, false, None, true),
            ("sean", Credential::User, false, Some("sean"), true),
            ("mary", Credential::User, false, None, false),
            ("mary", Credential::User, true, None, true),
            ("mary", Credential::User, true, Some("sean"), false),
            ("mary", Credential::User, true, Some("mary"), true),
            ("sean", agent, true, None, false),
            ("sean", session, true, None, false),
            ("sean", channel, true, None, false),
        ] {
            let node_of = node_of.map(user);
            let may = may_decide(&caller(name, credential.clone()), &sean, has_right, node_of.as_ref());
            assert_eq!(may.is_ok(), expected, "{name} {credential:?} {has_right} {node_of:?}");
        }
    }

    #[test]
    fn nobody_is_asked_about_a_change_that_is_longer_than_what_is_shown() {
        use crate::node_tools::NodeTool;
        use serde_json::json;
        let request = |tool, arguments| NodeRequest::parse(tool, &arguments).unwrap();
        let long = "x".repeat(SHOWN_LARGEST_BYTES + 1);
        let write = request(NodeTool::WriteFile, json!({"path": "a", "content": "x"}));
        let long_write = request(NodeTool::WriteFile, json!({"path": "a", "content": long}));
        let long_edit = request(NodeTool::EditFile, json!({"path": "a", "old": "b", "new": long}));
        let delete = request(NodeTool::DeleteFile, json!({"path": "a"}));
        let whole = Preview { diff: Some("+x".into()), ..Preview::default() };
        let cut = Preview { diff_cut: true, ..whole.clone() };
        let because = |why: &str| Preview { no_diff: Some(why.into()), ..Preview::default() };
        let (too_long, bytes) = (because(Preview::TOO_LONG), because("not text"));
        for (request, preview, expected) in [
            (&write, None, false),
            (&write, Some(&whole), false),
            (&write, Some(&bytes), false),
            (&write, Some(&cut), true),
            (&write, Some(&too_long), true),
            (&long_write, None, true),
            (&long_write, Some(&bytes), true),
            (&long_write, Some(&whole), false),
            (&long_edit, None, true),
            (&long_edit, Some(&too_long), true),
            (&delete, Some(&too_long), false),
            (&delete, Some(&cut), true),
            (&delete, None, false),
        ] {
            assert_eq!(is_shown_in_part(request, preview), expected, "{:?} {preview:?}", request.tool());
        }
    }
}
