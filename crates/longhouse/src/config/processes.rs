//! What the file says about the process itself: where its rows are and how it meets the network.

use super::nodes::Node;
use api::RateLimit;
use std::num::NonZeroU32;

/// Settings that take effect when the server starts. What is absent was not said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProcessSettings {
    pub(crate) storage_url: Option<String>,
    pub(crate) bus_url: Option<String>,
    pub(crate) vectors_url: Option<String>,
    pub(crate) public_url: Option<String>,
    pub(crate) allowed_hosts: Option<Vec<String>>,
    pub(crate) metrics_open: Option<bool>,
    pub(crate) rate_limit: Option<RateLimit>,
}

pub(crate) fn settings(root: &Node) -> ProcessSettings {
    let text = |path: &[&str]| root.at(path).and_then(Node::text).map(str::to_owned);
    let hosts = root.at(&["server", "allowed_hosts"]).map(Node::list);
    ProcessSettings {
        storage_url: text(&["storage", "url"]),
        bus_url: text(&["bus", "url"]),
        vectors_url: text(&["vectors", "url"]),
        public_url: text(&["server", "public_url"]),
        allowed_hosts: hosts.map(|list| list.iter().filter_map(Node::text).map(str::to_owned).collect()),
        metrics_open: root.at(&["server", "metrics_open"]).and_then(Node::bool),
        rate_limit: root.at(&["server", "rate_limit"]).and_then(rate_limit),
    }
}

fn rate_limit(node: &Node) -> Option<RateLimit> {
    if node.text() == Some("off") {
        return Some(RateLimit::Off);
    }
    let number = |key: &str| node.get(key)?.text()?.parse::<NonZeroU32>().ok();
    let rate = number("per_second")?;
    let twice = rate.saturating_mul(NonZeroU32::MIN.saturating_add(1));
    Some(RateLimit::PerSecond { rate, burst: number("burst").unwrap_or(twice) })
}

impl ProcessSettings {
    /// The names of what differs, as the file has them.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("storage.url", self.storage_url == other.storage_url),
            ("bus.url", self.bus_url == other.bus_url),
            ("vectors.url", self.vectors_url == other.vectors_url),
            ("server.public_url", self.public_url == other.public_url),
            ("server.allowed_hosts", self.allowed_hosts == other.allowed_hosts),
            ("server.metrics_open", self.metrics_open == other.metrics_open),
            ("server.rate_limit", self.rate_limit == other.rate_limit),
        ];
        parts.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
    }
}
