//! Budgets: whose day ends when, and whether what they limit has a price.

use super::{Findings, scopes};
use crate::config::declarations::{models, settings};
use crate::config::nodes::Node;
use crate::config::problems::{Problem, quoted};
use domain::budgets::{has_limits, is_time_zone};
use domain::prices::price_of;
use domain::workspaces::personal_template;

pub(super) fn find(root: &Node, findings: &mut Findings) {
    let models = models(root);
    for scope in scopes(root) {
        zone(&scope.value, findings);
        let own = settings(&scope.value);
        // Everybody's own workspace has a budget without being given one.
        let is_template = root.entry("personal").is_some_and(|personal| std::ptr::eq(personal, scope));
        let budget = if is_template { personal_template(own).budget } else { own.budget };
        let limited = has_limits(budget.as_ref());
        if let Some(node) = scope.value.get("model").filter(|_| limited)
            && let Some(model) = node.text()
            && price_of(&models, model).is_none()
        {
            let message = format!("the model {} has no known price, so a budget cannot be kept", quoted(model));
            let expected = "a price under `models.prices` (0 may be written), or another model";
            findings.problems.push(Problem::new(node.spot, message).expected(expected));
        }
    }
}

fn zone(scope: &Node, findings: &mut Findings) {
    let Some(node) = scope.at(&["budget", "timezone"]) else { return };
    let Some(name) = node.text().filter(|name| !is_time_zone(name)) else { return };
    let problem = Problem::new(node.spot, format!("there is no time zone {}", quoted(name)))
        .expected("an IANA name such as `Europe/Berlin`");
    let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    findings.unknown(problem, name, known.iter().map(String::as_str));
}
