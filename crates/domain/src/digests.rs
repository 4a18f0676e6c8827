//! The digest of a call: one value over everything that was shown, so that what is approved, dispatched and executed is the
//! same, or nothing runs. Server and node make it each for themselves, also when they are of different builds.
//!
//! Every part is written with a mark and its length before it. So no two calls have the same bytes: nothing can be moved
//! from one part into its neighbour, and a part that is absent is not one that is empty.

use crate::ids::{AgentId, ProjectId, SessionId, UserId};
use crate::node_tools::NodeTool;
use crate::times::Timestamp;
use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Nothing else that is ever hashed begins like this. A change of the form below needs another word.
const DOMAIN: &str = "longhouse tool call 4";

/// Of a call that is no command, or that nobody could look at.
pub const NOTHING_STARTED: &BTreeMap<String, String> = &BTreeMap::new();

/// All that was shown to whoever decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown<'a> {
    pub plan: Plan<'a>,
    pub parties: Parties<'a>,
    pub policy_epoch: u64,
    pub expires_at: Timestamp,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan<'a> {
    pub tool: NodeTool,
    pub schema_version: u32,
    /// Exactly as they were given; only the order of names within an object does not count.
    pub arguments: &'a Value,
    /// Where the node found the program; none if it is no command, or nobody could look.
    pub program: Option<&'a str>,
    /// The files that words behind a wrapper mean.
    pub starts: &'a BTreeMap<String, String>,
    pub cwd: Option<&'a str>,
    /// The names of what its environment would have, in any order.
    pub environment: &'a [String],
    /// Of the file that is to be changed.
    pub base_sha256: Option<&'a str>,
    /// Whether it may use the network.
    pub network: bool,
}

/// Where it comes from, for whom it is, and who does it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parties<'a> {
    /// The call's own id: a yes is to one call, once.
    pub call: &'a str,
    pub project: &'a ProjectId,
    pub session: Option<&'a SessionId>,
    pub agent: &'a AgentId,
    pub user: &'a UserId,
    /// The node's id.
    pub node: Option<&'a str>,
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn digest(shown: &Shown<'_>) -> String {
    let Shown { plan, parties, policy_epoch, expires_at } = shown;
    let mut form = Form::new(DOMAIN);
    form.text(plan.tool.as_str());
    form.text(&plan.schema_version.to_string());
    form.value(plan.arguments);
    form.optional(plan.program);
    form.count(b'o', plan.starts.len());
    for (word, file) in plan.starts {
        form.text(word);
        form.text(file);
    }
    form.optional(plan.cwd);
    let mut names: Vec<&String> = plan.environment.iter().collect();
    names.sort();
    form.count(b'l', names.len());
    names.into_iter().for_each(|name| form.text(name));
    form.optional(plan.base_sha256);
    form.truth(plan.network);
    form.text(parties.call);
    form.text(parties.project.as_str());
    form.optional(parties.session.map(SessionId::as_str));
    form.text(parties.agent.as_str());
    form.text(parties.user.as_str());
    form.optional(parties.node);
    form.text(&policy_epoch.to_string());
    form.text(&expires_at.as_ms().to_string());
    form.hex()
}

/// The canonical form on its way into the hash: it is never held as a whole, since content may be large.
pub(crate) struct Form(Sha256);

impl Form {
    /// The first part says what is hashed, so that nothing else has the same bytes.
    pub(crate) fn new(domain: &str) -> Self {
        let mut form = Self(Sha256::new());
        form.text(domain);
        form
    }

    pub(crate) fn hex(self) -> String {
        HEXLOWER.encode(&self.0.finalize())
    }

    /// A mark, and how many bytes or parts follow: eight bytes, the highest first.
    fn count(&mut self, mark: u8, count: usize) {
        self.0.update([mark]);
        self.0.update((count as u64).to_be_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(b't', text.len());
        self.0.update(text.as_bytes());
    }

    pub(crate) fn optional(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.count(b'-', 0),
        }
    }

    fn truth(&mut self, truth: bool) {
        self.count(b'b', usize::from(truth));
    }

    /// JSON of any depth that was read strictly; the order of names depends on nobody's settings.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.count(b'n', 0),
            Value::Bool(truth) => self.truth(*truth),
            Value::Number(number) => {
                let text = number.to_string();
                self.count(b'#', text.len());
                self.0.update(text.as_bytes());
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.count(b'l', items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(map) => self.object(map),
        }
    }

    pub(crate) fn object(&mut self, map: &Map<String, Value>) {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by_key(|(name, _)| *name);
        self.count(b'o', entries.len());
        for (name, value) in entries {
            self.text(name);
            self.value(value);
        }
    }
}

#[cfg(test)]
mod tests;
