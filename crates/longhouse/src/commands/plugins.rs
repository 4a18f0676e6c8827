//! `longhouse plugin …`

use super::path;
use crate::cli::{AcceptTool, Actor, Plugin};
use crate::client::Client;
use crate::output::{cell, print};
use anyhow::{Context, Result};
use serde_json::{Value, json};

pub(super) async fn run(client: &Client, json: bool, command: Plugin) -> Result<()> {
    match command {
        Plugin::List => {
            let answer = client.get(&Actor::default(), "/admin/plugins").await?;
            print(json, &answer, listed)
        }
        Plugin::Accept(wanted) => accept(client, json, wanted).await,
    }
}

async fn accept(client: &Client, json: bool, wanted: AcceptTool) -> Result<()> {
    let AcceptTool { plugin, tool, fingerprint } = wanted;
    let fingerprint = match fingerprint {
        Some(fingerprint) => json!(fingerprint),
        None => {
            let answer = client.get(&Actor::default(), "/admin/plugins").await?;
            let found = find(&answer, &plugin, &tool);
            found.with_context(|| format!("plugin `{plugin}` lists no tool `{tool}`"))?["fingerprint"].clone()
        }
    };
    let address = path(&["admin", "plugins", &plugin, "accept"], &[]);
    client.post(&Actor::default(), &address, &json!({"tool": tool, "fingerprint": fingerprint})).await?;
    let answer = json!({"plugin": plugin, "tool": tool, "fingerprint": fingerprint});
    print(json, &answer, |_| format!("{tool} of {plugin} is accepted as it is now"))
}

fn find<'a>(answer: &'a Value, plugin: &str, tool: &str) -> Option<&'a Value> {
    let plugin = answer["items"].as_array()?.iter().find(|one| one["name"] == plugin)?;
    plugin["tools"].as_array()?.iter().find(|one| one["name"] == tool)
}

/// A line for each plugin, and below it one for each tool.
fn listed(answer: &Value) -> String {
    let plugins = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
    if plugins.is_empty() {
        return "no plugins: `plugins` in the configuration file declares them".to_owned();
    }
    plugins.iter().map(told).collect::<Vec<_>>().join("\n")
}

fn told(plugin: &Value) -> String {
    let times = plugin["times_away"].as_u64().unwrap_or_default();
    let why = match (plugin["why"].as_str(), plugin["last_trouble"].as_str()) {
        (Some(why), _) => format!(" ({why})"),
        // It is well now, and was not.
        (None, Some(why)) => format!(" (was away {times} times, the last time because {why})"),
        (None, None) => String::new(),
    };
    let mut lines = vec![format!("{}  {}{why}", cell(&plugin["name"]), cell(&plugin["state"]))];
    for tool in plugin["tools"].as_array().into_iter().flatten() {
        let asks = if tool["waits_for_a_person"] == true { "  asks a person" } else { "" };
        let description = cell(&tool["description"]).replace('\n', " ");
        lines.push(format!("  {}  {}{asks}  {description}", cell(&tool["name"]), cell(&tool["status"])));
    }
    for tool in plugin["left_out"].as_array().into_iter().flatten() {
        lines.push(format!("  {}  not offered: {}", cell(&tool["name"]), cell(&tool["why"])));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_listed_with_their_tools_and_what_is_wrong_with_them() {
        let answer = json!({"items": [
            {"name": "dice", "state": "ready", "left_out": [{"name": "größe", "why": "its name"}], "tools": [
                {"name": "dice.roll", "status": "changed", "description": "Throws\ndice.", "waits_for_a_person": true}]},
            {"name": "cat", "state": "ready", "times_away": 2, "last_trouble": "it ended", "tools": [], "left_out": []},
            {"name": "k8s", "state": "failed", "times_away": 8, "last_trouble": "its program ended", "why": "its program ended", "tools": [], "left_out": []},
        ]});
        let expected = "dice  ready\n  dice.roll  changed  asks a person  Throws dice.\n  größe  not offered: its name\n\
                        cat  ready (was away 2 times, the last time because it ended)\nk8s  failed (its program ended)";
        assert_eq!(listed(&answer), expected);
        assert!(find(&answer, "dice", "dice.roll").is_some() && find(&answer, "k8s", "dice.roll").is_none());
    }
}
