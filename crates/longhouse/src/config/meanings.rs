//! What a well-formed file may still get wrong: names that nobody has, places and accounts given twice, budgets that
//! cannot be kept. And what it should know: words that this version accepts and does not act on.

mod addresses;
mod channels;
mod money;
mod people;
mod places;
mod refusals;
mod variables;

use super::declarations::section;
use super::nodes::{Entry, Node};
use super::problems::{Problem, SHOWN_MOST, quoted};
use domain::ids::UserId;
use std::collections::BTreeSet;

/// Who is in the house already, so that the file may name them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KnownPeople {
    /// It was not looked: a name that the file does not define may be somebody.
    Anybody,
    These(BTreeSet<UserId>),
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

impl Findings {
    /// A problem with a name that is not known, and the known one that was probably meant: for as many as are shown.
    pub(crate) fn unknown<'a>(&mut self, problem: Problem, name: &str, known: impl IntoIterator<Item = &'a str>) {
        let is_shown = self.problems.len() < SHOWN_MOST;
        self.problems.push(if is_shown { problem.suggest(name, known) } else { problem });
    }
}

pub(crate) fn find(root: &Node, known: &KnownPeople, findings: &mut Findings) {
    people::find(root, known, findings);
    places::find(root, findings);
    money::find(root, findings);
    channels::find(root, findings);
    addresses::find(root, findings);
    refusals::find(root, findings);
    nodes(root, findings);
    engines(root, findings);
    sections(root, findings);
    variables::find(root, &variables::is_set, findings);
}

/// Every workspace, and the template of everybody's own under its own key.
fn scopes(root: &Node) -> impl Iterator<Item = &Entry> {
    section(root, "workspaces").iter().chain(root.entry("personal"))
}

/// Values of a list below each scope.
pub(crate) fn named_in_scopes<'a>(root: &'a Node, key: &str) -> Vec<&'a Node> {
    scopes(root).filter_map(|scope| scope.value.get(key)).flat_map(Node::list).collect()
}

fn nodes(root: &Node, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for node in named_in_scopes(root, "nodes") {
        if let Some(name) = node.text().filter(|name| seen.insert((*name).to_owned())) {
            let message = format!("the node {} is not paired yet", quoted(name));
            findings.warnings.push(Problem::new(node.spot, message));
        }
    }
}

/// An engine that is asked for and not there must not be replaced by another in silence.
fn engines(root: &Node, findings: &mut Findings) {
    for (section, only) in [("bus", "memory"), ("vectors", "embedded")] {
        if let Some(url) = root.at(&[section, "url"])
            && url.text().is_some_and(|text| text != only)
        {
            let problem = Problem::new(url.spot, "an engine that this version does not have");
            findings.problems.push(problem.expected(format!("`{only}`")));
        }
    }
}

/// Sections whose content is checked and kept for a later version.
fn sections(root: &Node, findings: &mut Findings) {
    for name in ["embeddings", "orchestrator"] {
        if let Some(entry) = root.entry(name) {
            let message = format!("`{name}` is accepted; this version does not act on it yet");
            findings.warnings.push(Problem::new(entry.key_spot, message));
        }
    }
}
