//! What the rules of the house themselves refuse. They have the last word, so that a file cannot declare what nobody could
//! set at run time; what another check told of already is not told again.

use super::{Findings, scopes};
use crate::config::declarations::{binding, section, settings};
use crate::config::nodes::Node;
use crate::config::problems::{Problem, Spot};
use domain::Refusal;
use domain::workspaces::Identity;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn find(root: &Node, findings: &mut Findings) {
    let told = findings.problems.iter().filter(|problem| problem.file.is_empty()).map(|problem| problem.spot).collect();
    let mut last = Last { told, problems: Vec::new() };
    for scope in scopes(root) {
        if let Err(refusal) = settings(&scope.value).check() {
            let part = field(&scope.value, &refusal).unwrap_or(&scope.value);
            last.tell(part, part.spot, refusal);
        }
    }
    for workspace in section(root, "workspaces") {
        for node in workspace.value.get("bindings").map(Node::list).unwrap_or_default() {
            if let Some(Err(refusal)) = binding(node).map(|binding| binding.place.check()) {
                last.tell(node, field(node, &refusal).unwrap_or(node).spot, refusal);
            }
        }
    }
    for user in section(root, "users") {
        for account in user.value.get("identities").map(Node::entries).unwrap_or_default() {
            let Some(id) = account.value.text() else { continue };
            if let Err(refusal) = (Identity { channel: account.key.clone(), id: id.to_owned() }).check() {
                last.tell(&account.value, account.value.spot, refusal);
            }
        }
    }
    findings.problems.append(&mut last.problems);
}

struct Last {
    told: BTreeSet<Spot>,
    problems: Vec<Problem>,
}

impl Last {
    /// `about`: what is refused as a whole.
    fn tell(&mut self, about: &Node, spot: Spot, refusal: Refusal) {
        if !is_within(about, &self.told) {
            self.problems.push(Problem::new(spot, refusal.message));
        }
    }
}

/// The value below a node that a refusal is about.
fn field<'a>(node: &'a Node, refusal: &Refusal) -> Option<&'a Node> {
    let name = refusal.details.get("field").and_then(Value::as_str)?;
    let name = name.rsplit('.').next()?;
    [node.get(name), node.at(&["budget", name]), node.at(&["tools", name])].into_iter().flatten().next()
}

fn is_within(node: &Node, spots: &BTreeSet<Spot>) -> bool {
    spots.contains(&node.spot)
        || node.list().iter().any(|element| is_within(element, spots))
        || node.entries().iter().any(|entry| spots.contains(&entry.key_spot) || is_within(&entry.value, spots))
}
