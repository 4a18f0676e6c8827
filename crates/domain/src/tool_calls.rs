//! Calls of tools on a person's machine, and of plugins: what was wished for, how it was judged, who is to do it, what came of it. Pure;
//! `service` asks here before every step.

mod briefs;
#[cfg(test)]
mod model;
mod moves;
mod rooms;
mod states;

pub use briefs::{Brief, cut_text};
pub use moves::{Deliver, moved_on};
pub use rooms::{OpenCalls, check_room};
pub use states::{CallStatus, Risk};

use crate::ids::{ApprovalId, NodeId, ProjectId, SessionId, TaskId, ToolCallId, UserId};
use crate::messages::{Failure, NamedAgent};
use crate::node_tools::NodeTool;
use crate::participants::Participant;
use crate::plugins::Fingerprint;
use crate::snapshots::Label;
use crate::times::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub origin: CallOrigin,
    pub wish: Wish,
    pub status: CallStatus,
    /// None until it was found valid and allowed.
    pub judgement: Option<Judgement>,
    /// The decision it waited or waits for.
    pub approval: Option<ApprovalId>,
    pub delivery: Delivery,
    pub outcome: CallOutcome,
    pub times: CallTimes,
}

/// Where a call comes from, and on whose behalf.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOrigin {
    pub project: ProjectId,
    pub session: Option<SessionId>,
    pub agent: NamedAgent,
    pub user: UserId,
    pub participant: Participant,
    /// The turn that waits for it; nobody does if it came in by a door.
    pub waiter: Option<Waiter>,
}

/// A call of a model's reply in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiter {
    pub task: TaskId,
    /// The id that the model gave the call.
    pub call: String,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    pub tool: String,
    /// The arguments exactly as they are shown, approved and executed: one JSON object.
    pub params: String,
    /// The node that the caller named.
    pub node: Option<String>,
}

/// What the house thinks of a call that is valid and allowed. What is approved, dispatched and executed is what is here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    pub risk: Risk,
    /// Why it is no lower.
    pub reasons: Vec<String>,
    pub digest: String,
    /// Which rules it was judged by, and until when that holds: both are part of the digest.
    pub policy_epoch: u64,
    pub expires_at: Timestamp,
    /// Whether it may use the network: the rules grant it, and the node does.
    #[serde(default)]
    pub network: bool,
    /// What the node said of it beforehand; none if it could not be asked.
    pub preview: Option<Preview>,
    /// Which tool of which plugin it is; none if it is made on a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginUse>,
    /// What its session knew when a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_knew: Option<SessionKnew>,
    /// Whether others with the right to may decide about it: not on a machine that somebody paired for themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_deciders: bool,
}

/// A tool of a plugin, just as it was accepted: another one of that name is not what was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginUse {
    pub plugin: String,
    pub fingerprint: Fingerprint,
    pub description: String,
}

/// How the shared context of a session stood. The whole of it is kept under this label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionKnew {
    pub rev: u64,
    pub keys: u64,
    pub tokens: u64,
    pub label: Label,
}

/// What a node found out about a call without doing anything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// Whether there is a file or folder of that name; none if it is about no path.
    pub exists: Option<bool>,
    /// Where the path really leads, behind links.
    #[serde(default)]
    pub path: Option<String>,
    /// Of the file that would change; none if there is none yet.
    pub base_sha256: Option<String>,
    /// What would change in a text.
    pub diff: Option<String>,
    /// Whether the diff is not all of it.
    #[serde(default)]
    pub diff_cut: bool,
    /// Why there is no diff.
    #[serde(default)]
    pub no_diff: Option<String>,
    /// Where a program was found.
    pub program: Option<String>,
    /// The files that words behind a wrapper mean, such as what `env` would start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub starts: BTreeMap<String, String>,
    /// The folder that a program would run in, below the root.
    pub cwd: Option<String>,
    /// The names of what its environment would have.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Whether the node would let a program use the network.
    #[serde(default)]
    pub network: bool,
    /// Why the node would refuse it.
    pub refusal: Option<Failure>,
}

impl Preview {
    /// Why there is no diff of a text that is too long for one. The house goes by it: what is too long is not asked about.
    pub const TOO_LONG: &str = "too long to be compared";
}

/// Who is to do it, and the how manieth time somebody was told: the fence against answers to an earlier telling.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delivery {
    pub node: Option<NodeId>,
    pub attempt: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallOutcome {
    /// Why it came to nothing.
    pub reason: Option<Failure>,
    /// What the node brought back: one JSON object.
    pub result: Option<String>,
    /// Whether whoever waited has it, or nobody did.
    pub consumed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallTimes {
    pub created_at: Timestamp,
    /// When its state ends by itself.
    pub deadline_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Whether a tool has this name by which the house itself calls plugins: theirs are dotted, and no others are.
pub fn is_of_a_plugin(tool: &str) -> bool {
    tool.contains('.')
}

/// Whether a call of this tool is put on record and outlives whoever asked for it.
pub fn is_put_on_record(tool: &str) -> bool {
    NodeTool::parse(tool).is_some() || is_of_a_plugin(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platforms_own_tools_are_answered_at_once_and_all_others_put_on_record() {
        for tool in crate::platform_tools::ALL {
            assert!(!is_put_on_record(tool.name), "{}", tool.name);
        }
        for tool in NodeTool::ALL {
            assert!(is_put_on_record(tool.as_str()) && !is_of_a_plugin(tool.as_str()), "{tool:?}");
        }
        assert!(is_put_on_record("k8s.get") && is_of_a_plugin("k8s.get"));
    }
}
