//! `longhouse policy …`

use super::path;
use crate::cli::{Actor, ExplainPolicy, Policy};
use crate::client::Client;
use crate::output::{cell, print};
use anyhow::Result;
use serde_json::{Value, json};

pub(super) async fn run(client: &Client, json: bool, command: Policy) -> Result<()> {
    let Policy::Explain(ExplainPolicy { tool, workspace, user }) = command;
    let address = path(&["workspaces", &workspace, "policy", "explain"], &[]);
    let answer = client.post(&Actor::default(), &address, &json!({"user": user, "tool": tool})).await?;
    print(json, &answer, explained)
}

fn explained(answer: &Value) -> String {
    let rule = answer["rule"].as_str().map_or_else(String::new, |rule| format!(" `{rule}`"));
    format!("{} by {}{rule}: {}", cell(&answer["decision"]), cell(&answer["layer"]), cell(&answer["detail"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_one_line() {
        let cases = [
            (
                json!({"decision": "DENY", "layer": "deny", "rule": "exec.*", "detail": "it is denied"}),
                "DENY by deny `exec.*`: it is denied",
            ),
            (
                json!({"decision": "ALLOW", "layer": "platform", "rule": null, "detail": "always on"}),
                "ALLOW by platform: always on",
            ),
        ];
        for (answer, expected) in cases {
            assert_eq!(explained(&answer), expected);
        }
    }
}
