//! Environment variables that hold keys: what is in them is nobody's business here, whether they are there is.

use super::Findings;
use crate::config::nodes::Node;
use crate::config::problems::{Problem, quoted};
use std::collections::BTreeSet;

/// Only told: the file may be checked somewhere else than where the server runs.
pub(super) fn find(root: &Node, is_set: &dyn Fn(&str) -> bool, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (node, what_follows) in named(root) {
        let told_of = findings.problems.iter().any(|problem| problem.spot == node.spot);
        if let Some(name) = node.text().filter(|name| !told_of && seen.insert((*name).to_owned()) && !is_set(name)) {
            let message = format!("{} is not set in this environment: {what_follows}", quoted(name));
            findings.warnings.push(Problem::new(node.spot, message));
        }
    }
}

/// Where variables are named, and what follows if they are not there.
fn named(root: &Node) -> impl Iterator<Item = (&Node, &'static str)> {
    let below = |path: &[&str]| root.at(path).map(Node::entries).unwrap_or_default();
    let keys = below(&["models", "providers"]).iter().map(|provider| (&provider.value, "api_key_env"));
    let keys = keys.map(|named| (named, "the provider is asked without a key"));
    let secrets = below(&["channels"]).iter().flat_map(|channel| {
        let is_webhook = channel.value.get("mode").and_then(Node::text) == Some("webhook");
        let keys = if is_webhook { &["token_env", "webhook_secret_env"][..] } else { &["token_env"] };
        keys.iter().map(|key| ((&channel.value, *key), "the channel cannot be connected"))
    });
    keys.chain(secrets).filter_map(|((node, key), what_follows)| Some((node.get(key)?, what_follows)))
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
