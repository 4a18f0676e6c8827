//! `longhouse items …`: the `workspace_*` tools for people, on behalf of an agent.

use super::addresses::locate;
use super::{all_pages, input, path};
use crate::cli::{Actor, AgentAddress, Items, Person, PublishItem, WriteItem};
use crate::client::Client;
use crate::output::{cell, items, print};
use anyhow::Result;
use axum::http::Method;
use serde_json::{Value, json};

const PREVIEW_CHARACTERS: usize = 40;

pub(super) async fn run(client: &Client, json: bool, command: Items) -> Result<()> {
    match command {
        Items::List(address) => {
            let answer = call(client, address, "workspace_list", json!({})).await?;
            print(json, &answer, listing)
        }
        Items::Read { key, address } => {
            let answer = call(client, address, "workspace_read", json!({"key": key})).await?;
            print(json, &answer, |answer| cell(&answer["value"]))
        }
        Items::Write(WriteItem { key, value, if_version, address }) => {
            let mut request = json!({"key": key, "value": input::value(value)?});
            if let Some(version) = if_version {
                request["if_version"] = version.into();
            }
            let answer = call(client, address, "workspace_write", request).await?;
            print(json, &answer, written)
        }
        Items::Delete { key, address } => {
            let answer = call(client, address, "workspace_delete", json!({"key": key})).await?;
            print(json, &answer, |answer| format!("deleted {}", cell(&answer["deleted"])))
        }
        Items::Publish(wanted) => publish(client, json, wanted).await,
        Items::Publications { person } => publications(client, json, person).await,
        Items::Recall { publication, person } => {
            let path = path(&["my", "publications", &publication], &[]);
            client.call(&Actor::from(person), Method::DELETE, &path, None).await?;
            print(json, &json!({"recalled": publication}), |answer| format!("recalled {}", cell(&answer["recalled"])))
        }
    }
}

async fn call(client: &Client, address: AgentAddress, tool: &str, request: Value) -> Result<Value> {
    let located = locate(client, address).await?;
    client.post(&located.actor, &located.path(&["tools", tool]), &request).await
}

fn listing(answer: &Value) -> String {
    let mut answer = answer.clone();
    for item in answer["items"].as_array_mut().into_iter().flatten() {
        let (preview, source) = (first_line(&item["preview"]), cell(&item["published_from"]["scope"]));
        item["preview"] = preview.into();
        item["published_from"] = source.into();
    }
    let fields = ["key", "version", "size_bytes", "updated_by", "updated_at", "published_from", "preview"];
    items(&answer["items"], &fields)
}

/// As much of a preview as a row has room for.
fn first_line(preview: &Value) -> String {
    let text = preview.as_str().unwrap_or_default();
    let shown: String = text.lines().next().unwrap_or_default().chars().take(PREVIEW_CHARACTERS).collect();
    if shown.len() < text.trim_end().len() { format!("{shown}…") } else { shown }
}

fn written(answer: &Value) -> String {
    format!(
        "{} is at version {} ({} bytes) by {}",
        cell(&answer["key"]),
        answer["version"],
        answer["size_bytes"],
        cell(&answer["updated_by"]),
    )
}

async fn publish(client: &Client, json: bool, wanted: PublishItem) -> Result<()> {
    let mut request = json!({"key": wanted.key, "target_agent_id": wanted.to, "overwrite": wanted.overwrite});
    if let Some(key) = wanted.target_key {
        request["target_key"] = key.into();
    }
    let answer = call(client, wanted.address, "workspace_publish", request).await?;
    print(json, &answer, published)
}

fn published(answer: &Value) -> String {
    format!(
        "{} is published to {} as {}, version {}\ntake it back with: longhouse items recall {}",
        cell(&answer["key"]),
        cell(&answer["target_agent_id"]),
        cell(&answer["target_key"]),
        answer["version"],
        cell(&answer["publication_id"]),
    )
}

async fn publications(client: &Client, json: bool, person: Person) -> Result<()> {
    let found = Value::Array(all_pages(client, &person.into(), &["my", "publications"], &[]).await?);
    let fields = ["id", "key", "version", "target_agent_id", "target_key", "target_version", "state", "published_at"];
    print(json, &found, |found| items(found, &fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_stays_on_its_row() {
        let cases = [
            ("short", "short"),
            ("one line\n", "one line"),
            ("two\nlines", "two…"),
            ("", ""),
            ("\n\nlate", "…"),
            (&"é".repeat(41), &format!("{}…", "é".repeat(40))),
        ];
        for (preview, shown) in cases {
            assert_eq!(first_line(&json!(preview)), shown, "{preview:?}");
        }
    }
}
