//! `longhouse user …`

use super::{all_pages, path};
use crate::cli::{Actor, User};
use crate::client::Client;
use crate::output::{cell, items, print, texts};
use anyhow::Result;
use axum::http::Method;
use serde_json::{Value, json};

fn described(user: &Value) -> String {
    format!("{} ({})", cell(&user["id"]), cell(&user["role"]))
}

fn listing(found: &Value) -> String {
    let mut found = found.clone();
    for user in found.as_array_mut().into_iter().flatten() {
        user["said by"] = texts(&user["defined_in"]).into();
    }
    items(&found, &["id", "role", "said by", "created_at"])
}

pub(super) async fn run(client: &Client, json: bool, command: User) -> Result<()> {
    let nobody = Actor::default();
    match command {
        User::Add { name, role, restore } => {
            let answer =
                client.post(&nobody, "/admin/users", &json!({"name": name, "role": role, "restore": restore})).await?;
            print(json, &answer, described)?;
        }
        User::List => {
            let found = Value::Array(all_pages(client, &nobody, &["admin", "users"], &[]).await?);
            print(json, &found, listing)?;
        }
        User::Role { name, role } => {
            let path = path(&["admin", "users", &name], &[]);
            let body = json!({"role": role});
            let answer = client.call(&nobody, Method::PATCH, &path, Some(&body)).await?;
            print(json, &answer, described)?;
        }
        User::Remove { name } => {
            client.call(&nobody, Method::DELETE, &path(&["admin", "users", &name], &[]), None).await?;
            print(json, &json!({"removed": name}), |answer| format!("removed {}", cell(&answer["removed"])))?;
        }
        User::Link { name } => {
            let answer = client.post(&nobody, &path(&["admin", "users", &name, "link"], &[]), &json!({})).await?;
            print(json, &answer, |answer| cell(&answer["url"]))?;
        }
    }
    Ok(())
}
