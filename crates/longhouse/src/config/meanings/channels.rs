//! Channels and the providers of models.

use super::Findings;
use crate::config::nodes::Node;
use crate::config::problems::{Problem, quoted};

pub(super) fn find(root: &Node, findings: &mut Findings) {
    webhook(root, findings);
    routes(root, findings);
    addresses(root, findings);
}

/// Without a secret anybody could speak for the provider.
fn webhook(root: &Node, findings: &mut Findings) {
    let Some(telegram) = root.at(&["channels", "telegram"]) else { return };
    if let Some(mode) = telegram.get("mode").filter(|mode| mode.text() == Some("webhook"))
        && telegram.get("webhook_secret_env").is_none()
    {
        let problem = Problem::new(mode.spot, "a webhook without a secret would believe anybody");
        findings.problems.push(problem.expected("`webhook_secret_env` beside it"));
    }
}

fn routes(root: &Node, findings: &mut Findings) {
    let below = |name: &str| root.at(&["models", name]).map(Node::entries).unwrap_or_default();
    let providers: Vec<&str> = below("providers").iter().map(|entry| entry.key.as_str()).collect();
    for route in below("routes") {
        if let Some(name) = route.value.text().filter(|name| !providers.contains(name)) {
            let problem = Problem::new(route.value.spot, format!("there is no provider {}", quoted(name)))
                .expected("a name under `models.providers`");
            findings.unknown(problem, name, providers.iter().copied());
        }
    }
}

fn addresses(root: &Node, findings: &mut Findings) {
    for provider in root.at(&["models", "providers"]).map(Node::entries).unwrap_or_default() {
        let Some(address) = provider.value.get("base_url") else { continue };
        let versioned = address.text().is_some_and(|url| url.trim_end_matches('/').ends_with("/v1"));
        if versioned && provider.value.get("kind").and_then(Node::text) == Some("anthropic") {
            let message = "the address of an `anthropic` provider is written without `/v1`";
            findings.warnings.push(Problem::new(address.spot, message));
        }
    }
}
