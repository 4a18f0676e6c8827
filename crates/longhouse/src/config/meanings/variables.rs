//! Environment variables that hold keys: what is in them is nobody's business here, whether they are there is.

use super::Findings;
use crate::config::nodes::Node;
use crate::config::problems::{Problem, quoted};
use std::collections::BTreeSet;

/// Only told: the file may be checked somewhere else than where the server runs.
pub(super) fn find(root: &Node, is_set: &dyn Fn(&str) -> bool, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for provider in root.at(&["models", "providers"]).map(Node::entries).unwrap_or_default() {
        let Some(node) = provider.value.get("api_key_env") else { continue };
        let told_of = findings.problems.iter().any(|problem| problem.spot == node.spot);
        if let Some(name) = node.text().filter(|name| !told_of && seen.insert((*name).to_owned()) && !is_set(name)) {
            let message =
                format!("{} is not set in this environment: the provider is asked without a key", quoted(name));
            findings.warnings.push(Problem::new(node.spot, message));
        }
    }
}

pub(super) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parsing;

    #[test]
    fn a_variable_that_is_not_there_is_told_of_once_at_its_place() {
        let text = "models:\n  providers:\n    a: { kind: openai, base_url: \"http://a\", api_key_env: HERE }\n    \
                    b: { kind: openai, base_url: \"http://b\", api_key_env: GONE }\n    \
                    c: { kind: openai, base_url: \"http://c\", api_key_env: GONE }\n    \
                    d: { kind: openai, base_url: \"http://d\" }\n";
        let mut findings = Findings::default();
        find(&parsing::parse(text.as_bytes()).root.unwrap(), &|name| name == "HERE", &mut findings);
        assert!(findings.problems.is_empty());
        let told: Vec<_> = findings.warnings.iter().map(|warning| (warning.spot.line, warning.to_string())).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].0 == 4 && told[0].1.contains("`GONE` is not set in this environment"), "{told:?}");
    }
}
