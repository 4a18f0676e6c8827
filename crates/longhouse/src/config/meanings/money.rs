//! Budgets: whose day ends when, and whether what they limit has a price.

use super::{Findings, scopes};
use crate::config::declarations::{models, settings, time_zone};
use crate::config::nodes::Node;
use crate::config::problems::{Problem, quoted};
use domain::rules::Models;
use domain::workspaces::personal_defaults;

pub(super) fn find(root: &Node, findings: &mut Findings) {
    let models = models(root);
    for scope in scopes(root) {
        zone(&scope.value, findings);
        let own = settings(&scope.value);
        // Everybody's own workspace has a budget without being given one.
        let is_template = root.entry("personal").is_some_and(|personal| std::ptr::eq(personal, scope));
        let budget = if is_template { own.or(personal_defaults()).budget } else { own.budget };
        let limited = budget.is_some_and(|budget| {
            budget.daily.is_some() || budget.member_daily.is_some() || !budget.members.is_empty()
        });
        if let Some(node) = scope.value.get("model").filter(|_| limited)
            && let Some(model) = node.text()
            && !has_price(&models, model)
        {
            let message = format!("the model {} has no known price, so a budget cannot be kept", quoted(model));
            let expected = "a price under `models.prices` (0 may be written), or another model";
            findings.problems.push(Problem::new(node.spot, message).expected(expected));
        }
    }
}

fn zone(scope: &Node, findings: &mut Findings) {
    let Some(node) = scope.at(&["budget", "timezone"]) else { return };
    let Some(name) = node.text().filter(|name| time_zone(name).is_none()) else { return };
    let problem = Problem::new(node.spot, format!("there is no time zone {}", quoted(name)))
        .expected("an IANA name such as `Europe/Berlin`");
    let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    findings.unknown(problem, name, known.iter().map(String::as_str));
}

/// Whether the file says what a model costs. The longest pattern does not matter here: any that fits has a price.
fn has_price(models: &Models, model: &str) -> bool {
    model == "demo" || models.prices.keys().any(|pattern| fits(pattern.as_bytes(), model.as_bytes()))
}

/// `*` stands for any text. Without going back further than to the last `*`, so that no pattern takes long.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut next, mut star) = (0, 0, None);
    while at < text.len() {
        match pattern.get(next) {
            Some(b'*') => {
                star = Some((next, at));
                next += 1;
            }
            Some(byte) if *byte == text[at] => (at, next) = (at + 1, next + 1),
            _ => match star {
                Some((back, from)) => {
                    (next, at) = (back + 1, from + 1);
                    star = Some((back, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[next..].iter().all(|byte| *byte == b'*')
}
