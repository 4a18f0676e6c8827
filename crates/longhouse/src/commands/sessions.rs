//! `longhouse session …`

use super::{all_pages, path};
use crate::cli::{Actor, OneSession, Session};
use crate::client::Client;
use crate::output::{cell, items, print};
use anyhow::{Context, Result};
use axum::http::Method;
use serde_json::{Value, json};

pub(super) async fn run(client: &Client, json: bool, command: Session) -> Result<()> {
    match command {
        Session::Create { id, title, project, workspace, settings, actor } => {
            let config: Option<Value> =
                settings.map(|text| serde_json::from_str(&text)).transpose().context("--settings is not JSON")?;
            let body = json!({"id": id, "title": title, "project": project, "workspace": workspace, "config": config});
            let answer = client.post(&actor, "/sessions", &body).await?;
            print(json, &answer, |answer| cell(&answer["id"]))?;
        }
        Session::List { workspace, actor } => {
            let query = [("workspace", workspace.as_deref())];
            let found = Value::Array(all_pages(client, &actor, &["sessions"], &query).await?);
            let fields = ["id", "state", "key_count", "total_size_tokens", "workspace", "project", "title"];
            print(json, &found, |found| items(found, &fields))?;
        }
        Session::Show(one) => {
            let answer = ask(client, &one, Method::GET, None).await?;
            print(json, &answer, |answer| format!("{answer:#}"))?;
        }
        Session::Archive(one) => {
            let answer = ask(client, &one, Method::POST, Some("archive")).await?;
            print(json, &answer, |answer| format!("archived {}", cell(&answer["id"])))?;
        }
        Session::Delete(one) => {
            ask(client, &one, Method::DELETE, None).await?;
            print(json, &json!({"deleted": one.id}), |answer| format!("deleted {}", cell(&answer["deleted"])))?;
        }
        Session::Prompt(one) => {
            let answer = ask(client, &one, Method::GET, Some("prompt")).await?;
            print(json, &answer, |answer| cell(&answer["prompt"]))?;
        }
    }
    Ok(())
}

async fn ask(client: &Client, one: &OneSession, method: Method, part: Option<&str>) -> Result<Value> {
    let mut segments = vec!["sessions", one.id.as_str()];
    segments.extend(part);
    let path = path(&segments, &[("workspace", one.workspace.as_deref())]);
    let actor: &Actor = &one.actor;
    client.call(actor, method, &path, None).await
}
