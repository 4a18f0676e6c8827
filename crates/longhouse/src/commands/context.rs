//! `longhouse context …`: the `shared_context` tool for people.

use super::{input, path};
use crate::cli::{Actor, Context, ContextAction, Usage, WriteContext};
use crate::client::Client;
use crate::output::{cell, items, line, print};
use anyhow::{Context as _, Result, bail};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};

/// The session that is meant, and by whom.
struct Scene<'c> {
    client: &'c Client,
    json: bool,
    session: String,
    workspace: Option<String>,
    actor: Actor,
}

impl Scene<'_> {
    fn path(&self, part: &str, query: &[(&str, Option<&str>)]) -> String {
        let mut all = vec![("workspace", self.workspace.as_deref())];
        all.extend_from_slice(query);
        path(&["sessions", &self.session, part], &all)
    }

    /// Uses the tool and prints its answer.
    async fn execute(&self, request: Value, human: impl FnOnce(&Value) -> String) -> Result<()> {
        let answer = self.client.post(&self.actor, &self.path("shared_context", &[]), &without_nulls(request)).await?;
        print(self.json, &answer, human)?;
        Ok(())
    }
}

/// Flags that were not given are not sent.
fn without_nulls(request: Value) -> Value {
    match request {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into(),
        other => other,
    }
}

pub(super) async fn run(client: &Client, json: bool, command: Context) -> Result<()> {
    let session = command.session.ok_or(Usage("which session? Give -s SESSION"))?;
    let scene = Scene { client, json, session, workspace: command.workspace, actor: command.actor };
    match command.action {
        ContextAction::List { prefix } => {
            scene.execute(json!({"action": "list_keys", "prefix": prefix}), listing).await
        }
        ContextAction::Read { keys } => read(&scene, &keys).await,
        ContextAction::Write(write) => scene.execute(write_request(write)?, written).await,
        ContextAction::Delete { key, if_version, if_rev } => {
            let request = json!({"action": "delete", "key": key, "if_version": if_version, "if_rev": if_rev});
            scene.execute(request, |answer| format!("deleted {}", cell(&answer["deleted"]))).await
        }
        ContextAction::History { key, versions } => {
            let versions = if versions.is_empty() { Value::Null } else { json!(versions) };
            scene.execute(json!({"action": "read_history", "key": key, "versions": versions}), history).await
        }
        ContextAction::Snapshot { label } => {
            scene.execute(json!({"action": "snapshot", "label": label}), snapshot).await
        }
        ContextAction::Snapshots => {
            let fields = ["label", "rev", "key_count", "total_size_tokens", "taken_by", "taken_at"];
            scene.execute(json!({"action": "list_snapshots"}), |answer| items(&answer["snapshots"], &fields)).await
        }
        ContextAction::ReadSnapshot { label, keys } => {
            let keys = if keys.is_empty() { Value::Null } else { json!(keys) };
            scene.execute(json!({"action": "read_snapshot", "label": label, "keys": keys}), entries).await
        }
        ContextAction::Restore { label } => {
            scene.execute(json!({"action": "restore_snapshot", "label": label}), restored).await
        }
        ContextAction::Diff { from, to } => {
            scene.execute(json!({"action": "diff", "from": moment(&from), "to": moment(&to)}), difference).await
        }
        ContextAction::Watch { keys, after, count } => watch(&scene, keys.as_deref(), after, count).await,
    }
}

fn listing(answer: &Value) -> String {
    let fields = ["key", "value_size_tokens", "version", "rev", "written_by", "written_at", "expires_at"];
    let total = format!("{} of {} tokens", answer["total_size_tokens"], answer["max_store_tokens"]);
    format!("{}{total}", items(&answer["keys"], &fields))
}

async fn read(scene: &Scene<'_>, keys: &[String]) -> Result<()> {
    match keys {
        [key] => scene.execute(json!({"action": "read", "key": key}), |answer| cell(&answer["value"])).await,
        keys => scene.execute(json!({"action": "read_batch", "keys": keys}), entries).await,
    }
}

fn entries(answer: &Value) -> String {
    let mut text = String::new();
    for entry in answer["entries"].as_array().into_iter().flatten() {
        let about = format!("{} (version {}, {})", cell(&entry["key"]), entry["version"], cell(&entry["written_by"]));
        text.push_str(&format!("== {about}\n{}\n", cell(&entry["value"])));
    }
    for key in answer["missing"].as_array().into_iter().flatten() {
        text.push_str(&format!("== {}: not there\n", cell(key)));
    }
    text
}

fn write_request(write: WriteContext) -> Result<Value> {
    Ok(json!({
        "action": "write",
        "key": write.key,
        "value": input::value(write.value)?,
        "if_version": write.if_version,
        "if_rev": write.if_rev,
        "ttl_seconds": write.ttl,
        "readable_by": write.readable_by,
        "writable_by": write.writable_by,
    }))
}

fn written(answer: &Value) -> String {
    let warning = answer["warning"].as_str().map_or(String::new(), |warning| format!("\nwarning: {warning}"));
    format!(
        "{} is at version {} (rev {}, {} tokens) by {}{warning}",
        cell(&answer["key"]),
        answer["version"],
        answer["rev"],
        answer["value_size_tokens"],
        cell(&answer["written_by"]),
    )
}

fn history(answer: &Value) -> String {
    let mut text = String::new();
    for item in answer["history"].as_array().into_iter().flatten() {
        let end = match (item["expired"].as_bool(), item["deleted"].as_bool()) {
            (Some(true), _) => " expired",
            (_, Some(true)) => " deleted",
            _ => "",
        };
        let about = format!(
            "version {} (rev {}){end}, {} at {}",
            item["version"],
            item["rev"],
            cell(&item["written_by"]),
            cell(&item["written_at"])
        );
        text.push_str(&format!("== {about}\n"));
        if let Some(value) = item["value"].as_str() {
            text.push_str(&format!("{value}\n"));
        }
    }
    if text.is_empty() { "no history is kept\n".to_owned() } else { text }
}

fn snapshot(answer: &Value) -> String {
    format!("snapshot {} of {} keys at rev {}", cell(&answer["label"]), answer["key_count"], answer["rev"])
}

fn restored(answer: &Value) -> String {
    let count = |field: &str| answer[field].as_array().map_or(0, Vec::len);
    format!(
        "restored {}: {} keys back, {} keys gone, now at rev {}",
        cell(&answer["label"]),
        count("restored"),
        count("deleted"),
        answer["rev"]
    )
}

/// A number is a rev, anything else a label or `now`.
fn moment(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| json!(text), |rev| json!(rev))
}

fn difference(answer: &Value) -> String {
    let mut text = String::new();
    for (sign, list) in [("+", "added"), ("-", "removed"), ("~", "changed")] {
        for key in answer[list].as_array().into_iter().flatten() {
            let versions = format!("{} -> {}", cell(&key["from_version"]), cell(&key["to_version"]));
            text.push_str(&format!("{sign} {} (version {versions})\n", cell(&key["key"])));
        }
    }
    if text.is_empty() { "no difference\n".to_owned() } else { text }
}

async fn watch(scene: &Scene<'_>, keys: Option<&str>, after: Option<u64>, count: Option<u64>) -> Result<()> {
    if scene.client.is_here() {
        bail!("nothing changes while no server runs: start one with `longhouse serve`");
    }
    let path = scene.path("events", &[("keys", keys)]);
    let mut body = scene.client.stream(&scene.actor, &path, after).await?;
    let mut pending = String::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.context("the stream was cut off")?.into_data() else { continue };
        pending.push_str(&String::from_utf8_lossy(&bytes));
        while let Some(end) = pending.find("\n\n") {
            let block: String = pending.drain(..end + 2).collect();
            let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) else { continue };
            if !line(&event(scene.json, data)) {
                return Ok(());
            }
            seen += 1;
            if count.is_some_and(|count| seen >= count) {
                return Ok(());
            }
        }
    }
    bail!("the server ended the stream")
}

fn event(json: bool, data: &str) -> String {
    if json {
        return data.to_owned();
    }
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    let subject = if event["key"].is_null() { &event["label"] } else { &event["key"] };
    format!(
        "{}  {:<17} {}  version {}  rev {}  {}",
        cell(&event["at"]),
        cell(&event["type"]),
        cell(subject),
        cell(&event["version"]),
        cell(&event["rev"]),
        cell(&event["written_by"]),
    )
}
