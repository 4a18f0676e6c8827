//! Places of channels: what each channel calls one, and that each belongs to one workspace.

use super::Findings;
use crate::config::declarations::{binding, section};
use crate::config::nodes::{Entry, Node};
use crate::config::problems::{Problem, Spot, quoted};
use domain::workspaces::ChannelPlace;
use std::collections::BTreeMap;

pub(super) fn find(root: &Node, findings: &mut Findings) {
    let mut bound: BTreeMap<String, (&str, Spot)> = BTreeMap::new();
    for workspace in section(root, "workspaces") {
        for node in workspace.value.get("bindings").map(Node::list).unwrap_or_default() {
            let Some(place) = binding(node).map(|binding| binding.place) else { continue };
            if !is_of_its_channel(node, &place, findings) {
                continue;
            }
            once(workspace, node.spot, &place, &mut bound, findings);
            unconfigured(root, node, &place, findings);
        }
    }
}

fn is_of_its_channel(node: &Node, place: &ChannelPlace, findings: &mut Findings) -> bool {
    let guild = place.guild_id.is_some() || place.channel_id.is_some();
    let expected = match (place.channel.as_str(), place.chat_id.is_some(), guild) {
        ("discord", true, false) => Some("`guild_id` with `channel_id`"),
        ("telegram" | "http", false, true) => Some("`chat_id`"),
        _ => None,
    };
    if let Some(expected) = expected {
        let message = format!("a place of {} is named otherwise", place.channel);
        findings.problems.push(Problem::new(node.spot, message).expected(expected));
        return false;
    }
    if place.channel == "telegram"
        && place.check().is_err()
        && let Some(chat) = node.get("chat_id")
    {
        let message = "a handle or name, which its owner can change and another take";
        findings
            .problems
            .push(Problem::new(chat.spot, message).expected("telegram's numeric id of the chat, such as -100123456"));
        return false;
    }
    // What else is wrong with it is told by the rules of the house.
    place.check().is_ok()
}

fn once<'a>(
    workspace: &'a Entry,
    spot: Spot,
    place: &ChannelPlace,
    bound: &mut BTreeMap<String, (&'a str, Spot)>,
    findings: &mut Findings,
) {
    let key = place.as_key();
    match bound.get(&key) {
        None => {
            bound.insert(key, (&workspace.key, spot));
        }
        Some((first, at)) => {
            let message = format!("this place is bound to {} already, in line {}", quoted(first), at.line);
            findings.problems.push(Problem::new(spot, message).expected("each place in one workspace"));
        }
    }
}

fn unconfigured(root: &Node, node: &Node, place: &ChannelPlace, findings: &mut Findings) {
    // A bot of one's own needs nothing but a token.
    if place.channel == "http" || root.at(&["channels", &place.channel]).is_some() {
        return;
    }
    let spot = node.get("channel").map_or(node.spot, |channel| channel.spot);
    let message = format!("`channels` has no `{}`: nothing arrives from this place", place.channel);
    findings.warnings.push(Problem::new(spot, message));
}
