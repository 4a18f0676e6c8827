//! `longhouse doctor`

use crate::cli::Actor;
use crate::client::Client;
use crate::output::{items, print};
use anyhow::Result;
use serde_json::Value;
use std::process::ExitCode;

pub(super) async fn run(client: &Client, json: bool, security: bool) -> Result<ExitCode> {
    let found = client.get(&Actor::default(), "/admin/doctor").await?;
    print(json, &found, |found| items(&found["checks"], &["status", "name", "detail"]))?;
    Ok(if is_well(&found, security) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// With `--security` a setting less safe than its default counts as much as damage.
fn is_well(found: &Value, security: bool) -> bool {
    let checks = found["checks"].as_array();
    checks.into_iter().flatten().all(|check| match check["status"].as_str() {
        Some("healthy") => true,
        _ => !security && check["name"].as_str().is_some_and(|name| name.starts_with("setting.")),
    })
}
