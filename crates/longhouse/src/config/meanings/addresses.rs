//! Addresses that the house would reach out to: written as a number, some lead nowhere that anybody means. Where names lead is
//! judged when they are used.

use super::Findings;
use crate::config::nodes::Node;
use crate::config::problems::Problem;
use domain::addresses::check_written;
use plugins::outbound::host_of;

pub(super) fn find(root: &Node, findings: &mut Findings) {
    let written = [
        (["plugins"].as_slice(), "url"),
        (&["models", "providers"], "base_url"),
        (&["channels"], "api_base"),
        (&["channels"], "gateway_url"),
    ];
    let below = |path| root.at(path).map(Node::entries).unwrap_or_default();
    let each = written.iter().flat_map(|(path, key)| below(path).iter().filter_map(|entry| entry.value.get(key)));
    for address in each.chain(root.at(&["alerts", "webhook"])).chain(root.at(&["embeddings", "base_url"])) {
        let host = address.text().and_then(host_of);
        if let Some(Err(refused)) = host.map(|host| check_written(&host)) {
            findings.problems.push(Problem::new(address.spot, format!("an address that is not used: {refused}")));
        }
    }
}
