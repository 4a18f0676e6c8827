//! `longhouse doctor`

use crate::cli::{Actor, Place};
use crate::client::Client;
use crate::config::{self, KnownPeople, Problem, lines};
use crate::output::{items, print};
use crate::settings;
use anyhow::Result;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(super) async fn run(client: &Client, place: &Place, security: bool) -> Result<ExitCode> {
    let mut found = client.get(&Actor::default(), "/admin/doctor").await?;
    if client.is_here() {
        look_at_file(client, place, &mut found).await?;
    }
    let json = place.json;
    print(json, &found, |found| items(&found["checks"], &["status", "name", "detail"]))?;
    Ok(if is_well(&found, security) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where no server runs, nobody has read the file: it is looked at as the next start would.
async fn look_at_file(client: &Client, place: &Place, found: &mut Value) -> Result<()> {
    let accepted = client.get(&Actor::default(), "/admin/config").await?;
    let check = |status: &str, detail: String| json!({"name": "config", "status": status, "detail": detail});
    let told = |status: &str, problems: &[Problem]| -> Vec<Value> {
        lines(problems).into_iter().map(|line| check(status, line)).collect()
    };
    let checks = match (settings::config_file(place), accepted["in_force"].as_str()) {
        (Some(path), _) => match config::load(&path, &KnownPeople::Anybody) {
            Ok(loaded) => told("healthy", &loaded.warnings),
            Err(rejected) => told("unhealthy", &rejected.problems),
        },
        (None, Some(origin)) => {
            let detail = format!("the rules come from {origin}, which was not given: the next start needs --config");
            vec![check("unhealthy", detail)]
        }
        (None, None) => Vec::new(),
    };
    if let Some(all) = found["checks"].as_array_mut() {
        all.extend(checks);
    }
    Ok(())
}

/// With `--security` a setting less safe than its default counts as much as damage.
fn is_well(found: &Value, security: bool) -> bool {
    let checks = found["checks"].as_array();
    checks.into_iter().flatten().all(|check| match check["status"].as_str() {
        Some("healthy") => true,
        // The house is well without a plugin; whoever uses it is told.
        Some("degraded") if check["name"] == "plugins" => !security,
        _ => !security && check["name"].as_str().is_some_and(|name| name.starts_with("setting.")),
    })
}
