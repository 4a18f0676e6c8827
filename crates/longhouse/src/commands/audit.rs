//! `longhouse audit …`

use super::all_pages;
use crate::cli::{Actor, Audit, AuditAction};
use crate::client::Client;
use crate::output::{cell, items, print};
use anyhow::Result;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(super) async fn run(client: &Client, json: bool, command: Audit) -> Result<ExitCode> {
    if let Some(AuditAction::Verify) = command.action {
        return verify(client, json).await;
    }
    let query = [("workspace", command.workspace.as_deref())];
    let mut rows = all_pages(client, &Actor::default(), &["admin", "audit"], &query).await?;
    rows.sort_by_key(|row| cell(&row["at"]));
    let newest = rows.split_off(rows.len().saturating_sub(command.last));
    let fields = ["at", "workspace", "seq", "user", "participant", "action", "session", "detail"];
    print(json, &Value::Array(newest), |rows| items(rows, &fields))?;
    Ok(ExitCode::SUCCESS)
}

async fn verify(client: &Client, json: bool) -> Result<ExitCode> {
    let verdict = client.post(&Actor::default(), "/admin/audit/verify", &json!({})).await?;
    print(json, &verdict, |verdict| match verdict["intact"].as_bool() {
        Some(true) => format!("intact: {} rows, every chain holds", verdict["rows"]),
        _ => {
            let fault = &verdict["fault"];
            format!("BROKEN: {} at row {}: {}", cell(&fault["workspace"]), fault["seq"], cell(&fault["reason"]))
        }
    })?;
    Ok(if verdict["intact"] == true { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
