//! Nodes: the daemons on people's machines, and how they come into the house.

use crate::ids::{NodeId, ProjectId, UserId, WorkspaceId, is_word};
use crate::messages::Failure;
use crate::sessions::check_text;
use crate::times::Timestamp;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};

/// How long a code can be confirmed.
pub const PAIRED_WITHIN_S: u64 = 10 * 60;
/// A node asks for what there is to do at least this often, whatever the stream says.
pub const LOOKS_EVERY_S: u64 = 60;
/// One that was not heard for this long is gone.
pub const GONE_AFTER_S: u64 = LOOKS_EVERY_S + 30;
const LABEL_LONGEST: usize = 100;
/// Of what a node says went wrong.
const MESSAGE_LONGEST: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub workspace: WorkspaceId,
    pub id: NodeId,
    pub name: String,
    /// Whoever paired it.
    pub user: UserId,
    pub serves: Serves,
    /// SHA-256 of the key that only the node has, in hex.
    pub key_hash: String,
    pub machine: Machine,
    pub paired_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
}

/// For whom a node works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serves {
    /// For whoever paired it, in one project.
    Project(ProjectId),
    /// For the members of its workspace.
    Members,
}

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// A name for the folder it works in; not the path of it.
    pub root_label: String,
    pub platform: String,
    pub version: String,
}

impl Machine {
    pub fn check(&self) -> Result<()> {
        for (field, text) in
            [("root_label", &self.root_label), ("platform", &self.platform), ("version", &self.version)]
        {
            check_text(field, text, LABEL_LONGEST)?;
        }
        Ok(())
    }
}

impl Node {
    /// Whether it works for this person in this project.
    pub fn serves(&self, user: &UserId, project: &ProjectId) -> bool {
        match &self.serves {
            Serves::Project(own) => own == project && self.user == *user,
            Serves::Members => true,
        }
    }

    /// Whether it was heard of lately.
    pub fn is_online(&self, now: Timestamp) -> bool {
        self.last_seen_at.is_some_and(|seen| now < seen.plus_seconds(GONE_AFTER_S))
    }
}

pub fn check_name(name: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if is_word(name, 64, allowed) {
        return Ok(());
    }
    Err(Refusal::invalid_field("name", "a node's name has 1 to 64 of A-Z, a-z, 0-9, `_`, `-` and `.`"))
}

/// Which node makes a call: the one that is named, or the only one that is there.
pub fn choose<'n>(serving: &'n [Node], wanted: Option<&str>, now: Timestamp) -> Result<&'n Node> {
    if let Some(wanted) = wanted {
        let named = serving.iter().find(|node| node.name == wanted || node.id.as_str() == wanted);
        return named.ok_or_else(Refusal::node_not_found);
    }
    let online: Vec<&Node> = serving.iter().filter(|node| node.is_online(now)).collect();
    match (online.as_slice(), serving) {
        ([only], _) => Ok(only),
        ([], [only]) => Ok(only),
        ([], []) => {
            let message = "no node serves this project: start `longhouse connect` on the machine with the files";
            Err(Refusal::new(Code::NodeNotFound, message))
        }
        _ => {
            let names: Vec<&str> = serving.iter().map(|node| node.name.as_str()).collect();
            let message = "several nodes serve this project: say which one with `node`";
            Err(Refusal::new(Code::NodeAmbiguous, message).with("nodes", names))
        }
    }
}

/// What a node says went wrong. It has more codes than the house: one that is not known here is kept in the message.
pub fn failure(code: &str, message: String) -> Result<Failure> {
    check_text("message", &message, MESSAGE_LONGEST)?;
    if let Some(code) = Code::ALL.iter().copied().find(|known| known.as_str() == code) {
        return Ok(Failure { code, message });
    }
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    if !is_word(code, 64, allowed) {
        return Err(Refusal::invalid_field("code", "a `code` has 1 to 64 of A-Z, 0-9 and `_`"));
    }
    Ok(Failure { code: Code::NodeRefused, message: format!("{code}: {message}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, seen_s: Option<u64>) -> Node {
        Node {
            workspace: WorkspaceId::from_trusted("w".into()),
            id: NodeId::from_trusted(format!("nod_{name}")),
            name: name.into(),
            user: UserId::parse("sean").unwrap(),
            serves: Serves::Project(ProjectId::from_trusted("prj_1".into())),
            key_hash: String::new(),
            machine: Machine { root_label: "work".into(), platform: "linux".into(), version: "1".into() },
            paired_at: at(0),
            last_seen_at: seen_s.map(at),
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_ms(0).plus_seconds(seconds)
    }

    #[test]
    fn the_only_node_that_is_there_is_taken_and_of_several_one_must_be_named() {
        let (here, gone) = (Some(1_000), Some(10));
        for (nodes, wanted, expected) in [
            (vec![], None, Err(Code::NodeNotFound)),
            (vec![node("a", here)], None, Ok("a")),
            (vec![node("a", gone)], None, Ok("a")),
            (vec![node("a", None)], None, Ok("a")),
            (vec![node("a", here), node("b", gone)], None, Ok("a")),
            (vec![node("a", here), node("b", here)], None, Err(Code::NodeAmbiguous)),
            (vec![node("a", gone), node("b", None)], None, Err(Code::NodeAmbiguous)),
            (vec![node("a", here), node("b", gone)], Some("b"), Ok("b")),
            (vec![node("a", here), node("b", gone)], Some("nod_b"), Ok("b")),
            (vec![node("a", here)], Some("b"), Err(Code::NodeNotFound)),
        ] {
            let chosen = choose(&nodes, wanted, at(1_010));
            assert_eq!(chosen.map(|node| node.name.as_str()).map_err(|refusal| refusal.code), expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_node_is_there_while_it_is_heard_of() {
        let node = node("a", Some(100));
        for (seconds, expected) in [(100, true), (189, true), (190, false)] {
            assert_eq!(node.is_online(at(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn a_node_of_one_person_works_for_nobody_else() {
        let (sean, mary) = (UserId::parse("sean").unwrap(), UserId::parse("mary").unwrap());
        let (own, other) = (ProjectId::from_trusted("prj_1".into()), ProjectId::from_trusted("prj_2".into()));
        let mut node = node("a", None);
        assert!(node.serves(&sean, &own));
        assert!(!node.serves(&mary, &own));
        assert!(!node.serves(&sean, &other));
        node.serves = Serves::Members;
        assert!(node.serves(&mary, &other));
    }

    #[test]
    fn what_a_node_says_went_wrong_keeps_its_meaning() {
        let said = |code: &str| failure(code, "no".to_owned()).map_err(|refusal| refusal.details["field"].clone());
        let is = |code, message: &str| Ok(Failure { code, message: message.to_owned() });
        assert_eq!(said("STALE_BASE"), is(Code::StaleBase, "no"));
        assert_eq!(said("HIDDEN_SECRET"), is(Code::NodeRefused, "HIDDEN_SECRET: no"));
        let long = "A".repeat(65);
        for bad in ["", "hidden", "A B", "A\n", "\u{202e}A", &long] {
            assert_eq!(said(bad), Err("code".into()), "{bad:?}");
        }
        assert!(failure("STALE_BASE", "x".repeat(MESSAGE_LONGEST + 1)).is_err());
    }
}
