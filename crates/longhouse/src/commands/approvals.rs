//! `longhouse approvals …`, `longhouse pair …` and `longhouse nodes …`

use super::path;
use crate::cli::{Actor, Approvals, Nodes, OneApproval, Pair};
use crate::client::Client;
use crate::client::events::Events;
use crate::connect::object;
use crate::output::{cell, facts, items, line, print, texts};
use anyhow::{Result, bail};
use axum::http::Method;
use serde_json::{Value, json};

const ALL: &str = "all";

pub(super) async fn run(client: &Client, json: bool, command: Approvals) -> Result<()> {
    match command {
        Approvals::List { status, person } => {
            let status = Some(status.as_str()).filter(|status| *status != ALL);
            let mut answer =
                client.get(&Actor::from(person), &path(&["my", "approvals"], &[("status", status)])).await?;
            let fields = ["id", "tool", "about", "machine", "risk", "agent", "on_behalf_of", "status", "expires_at"];
            print(json, &answer["items"].take(), |found| items(&short(found), &fields))
        }
        Approvals::Show(OneApproval { id, person }) => {
            let answer = client.get(&Actor::from(person), &path(&["my", "approvals", &id], &[])).await?;
            print(json, &answer, whole)
        }
        Approvals::Context(OneApproval { id, person }) => {
            let answer = client.get(&Actor::from(person), &path(&["my", "approvals", &id, "context"], &[])).await?;
            print(json, &answer, |knew| {
                let fields = ["key", "version", "written_by", "written_at", "value"];
                format!("rev {}\n{}", knew["rev"], items(&knew["entries"], &fields))
            })
        }
        Approvals::Approve { one, remember } => {
            let actor = Actor::from(one.person);
            let asked = client.get(&actor, &path(&["my", "approvals", &one.id], &[])).await?;
            // What is approved is what was there when it was looked at.
            let mut body = json!({"digest": asked["digest"]});
            if remember {
                body["remember"] = json!({"kind": "call", "for": "session"});
            }
            let answer = decide(client, &actor, &asked, "approve", &body).await?;
            print(json, &answer, whole)
        }
        Approvals::Reject { one, reason } => {
            let actor = Actor::from(one.person);
            let asked = client.get(&actor, &path(&["my", "approvals", &one.id], &[])).await?;
            let answer = decide(client, &actor, &asked, "reject", &json!({"reason": reason})).await?;
            print(json, &answer, whole)
        }
        Approvals::Watch { person } => watch(client, json, &Actor::from(person)).await,
    }
}

async fn decide(client: &Client, actor: &Actor, asked: &Value, decision: &str, body: &Value) -> Result<Value> {
    let text = |name: &str| asked[name].as_str().unwrap_or_default();
    client.post(actor, &deciding(text("project"), text("id"), decision), body).await
}

/// Where an answer goes.
pub(crate) fn deciding(project: &str, id: &str, decision: &str) -> String {
    path(&["my", "projects", project, "approvals", id, decision], &[])
}

/// Those that wait already, and then each as it comes.
async fn watch(client: &Client, json: bool, actor: &Actor) -> Result<()> {
    let mut events = Events::new(client.stream(actor, "/my/events", None).await?);
    let waiting = client.get(actor, "/my/approvals?status=pending").await?;
    for asked in waiting["items"].as_array().into_iter().flatten().rev() {
        // A list has only the beginning of what is long.
        match asked["id"].as_str().filter(|_| asked["cut"] == true) {
            Some(id) => show(json, &client.get(actor, &path(&["my", "approvals", id], &[])).await?)?,
            None => show(json, asked)?,
        }
    }
    while let Some(event) = events.next().await {
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let Some(id) = data["approval"].as_str() else { continue };
        match data["type"].as_str() {
            Some("TOOL_APPROVAL_REQUEST") => {
                let asked = client.get(actor, &path(&["my", "approvals", id], &[])).await?;
                show(json, &asked)?;
            }
            Some("TOOL_APPROVAL_RESOLVED") if !json => {
                line(&format!("{id} is {}", data["status"].as_str().unwrap_or_default()));
            }
            _ => {}
        }
    }
    bail!("the stream of events ended")
}

fn show(json: bool, asked: &Value) -> Result<()> {
    if json {
        line(&asked.to_string());
        return Ok(());
    }
    print(false, asked, |asked| format!("{}\n", whole(asked)))
}

fn short(found: &Value) -> Value {
    let mut found = found.clone();
    for asked in found.as_array_mut().into_iter().flatten() {
        asked["about"] = object(&asked["params"]).into();
        asked["machine"] = machine(asked).into();
        asked["risk"] = asked["risk"]["level"].take();
    }
    found
}

/// Where it would be done: the machine and the folder on it, or the id of a node that is gone.
fn machine(asked: &Value) -> String {
    let text = |name: &str| asked[name].as_str();
    match (text("node_name"), text("root_label")) {
        (Some(name), Some(label)) => format!("{name} ({label})"),
        _ => text("node").unwrap_or_default().to_owned(),
    }
}

fn whole(asked: &Value) -> String {
    let mut told = asked.clone();
    told["machine"] = machine(asked).into();
    told["reasons"] = texts(&told["risk"]["reasons"]).into();
    told["risk"] = told["risk"]["level"].take();
    for (field, of_preview) in [("leads_to", "path"), ("cwd", "cwd"), ("replaces_sha256", "base_sha256")] {
        told[field] = told["preview"][of_preview].take();
    }
    let starts = told["preview"]["starts"].as_object().into_iter().flatten();
    let starts: Vec<String> =
        starts.map(|(word, file)| format!("{word}: {}", file.as_str().unwrap_or_default())).collect();
    told["starts"] = starts.join(", ").into();
    told["environment"] = texts(&told["preview"]["environment"]).into();
    told["plugin_says"] = told["plugin"]["description"].take();
    told["plugin"] = told["plugin"]["name"].take();
    let fields = [
        "id",
        "status",
        "tool",
        "machine",
        "risk",
        "reasons",
        "agent",
        "on_behalf_of",
        "session",
        "node",
        "plugin",
        "plugin_says",
        "program",
        "starts",
        "cwd",
        "environment",
        "leads_to",
        "replaces_sha256",
        "network",
        "expires_at",
        "decided_by",
        "reason",
        "call_status",
    ];
    let facts = facts(&told, &fields);
    let shown = asked["shown"].as_str().unwrap_or_default();
    let diff = asked["diff"].as_str().map(|diff| format!("\n{diff}")).unwrap_or_default();
    // What others wrote comes first and set apart: what is decided about stands last, in this program's own words.
    format!("{}\n{facts}\n{shown}{diff}", notes(asked)).trim_start().to_owned()
}

/// Words of others, each line marked as such, so that they cannot pass for this program's; no more than is read.
fn quoted(text: &str) -> String {
    const LINES_MOST: usize = 20;
    const LINE_LONGEST: usize = 300;
    let line = |line: &str| {
        let end = line.floor_char_boundary(LINE_LONGEST);
        let more = if end < line.len() { " […]" } else { "" };
        format!("\n  | {}{more}", &line[..end])
    };
    let mut quoted: String = text.lines().take(LINES_MOST).map(line).collect();
    let left = text.lines().count().saturating_sub(LINES_MOST);
    if left > 0 {
        quoted.push_str(&format!("\n  [{left} more lines are not shown here; `--json` has them]"));
    }
    quoted
}

/// What could not be found out beforehand, and what the call comes from.
fn notes(asked: &Value) -> String {
    let mut notes = Vec::new();
    // A plugin is never asked beforehand; that its tool is not known here is among the reasons.
    if asked["previewed"] != true && asked["plugin"].is_null() {
        notes.push("the machine could not be asked beforehand what this would do".to_owned());
    }
    if let Some(why) = asked["preview"]["no_diff"].as_str() {
        notes.push(format!("no diff: {why}"));
    }
    // Whoever decides need not be who had asked.
    let person = asked["on_behalf_of"].as_str().unwrap_or("somebody");
    for (field, told) in [("asked", format!("{person} had asked")), ("said", "the agent said".to_owned())] {
        if let Some(text) = asked["why"][field].as_str().filter(|text| !text.is_empty()) {
            notes.push(format!("{told}:{}", quoted(text)));
        }
    }
    if let Some(rev) = asked["session_knew"]["rev"].as_u64() {
        let id = asked["id"].as_str().unwrap_or_default();
        notes.push(format!("what the session knew then (rev {rev}): `longhouse approvals context {id}`"));
    }
    notes.iter().map(|note| format!("\n{note}")).collect()
}

pub(super) async fn pair(client: &Client, json: bool, command: Pair) -> Result<()> {
    let nobody = Actor::default();
    match command {
        Pair::Confirm { code, person } => {
            let path = path(&["nodes", "pair", &code, "confirm"], &[]);
            let answer = client.post(&Actor::from(person), &path, &json!({})).await?;
            print(json, &answer, |node| facts(node, &["id", "name", "project", "workspace", "root_label", "platform"]))
        }
        Pair::List { person } => {
            let mut answer = client.get(&Actor::from(person), "/admin/pairings").await?;
            let fields = ["code", "channel", "sender_id", "sender_name", "expires_at"];
            print(json, &answer["items"].take(), |found| items(found, &fields))
        }
        Pair::Approve { code, whose } => {
            let path = path(&["admin", "pairings", &code, "approve"], &[]);
            let body = whose.map_or_else(|| json!({}), |user| json!({"user": user}));
            let answer = client.post(&nobody, &path, &body).await?;
            print(json, &answer, |answer| facts(answer, &["user", "channel", "sender_id", "is_new"]))
        }
        Pair::Reject { code } => {
            client.post(&nobody, &path(&["admin", "pairings", &code, "reject"], &[]), &json!({})).await?;
            print(json, &json!({"rejected": code}), |answer| {
                format!("{} is worth nothing now", cell(&answer["rejected"]))
            })
        }
    }
}

pub(super) async fn nodes(client: &Client, json: bool, command: Nodes) -> Result<()> {
    match command {
        Nodes::List { person } => {
            let mut answer = client.get(&Actor::from(person), "/nodes").await?;
            let fields = ["id", "name", "project", "workspace", "root_label", "online", "last_seen_at", "version"];
            print(json, &answer["items"].take(), |found| items(found, &fields))
        }
        Nodes::Remove { node, person } => {
            let answer = client.call(&Actor::from(person), Method::DELETE, &path(&["nodes", &node], &[]), None).await?;
            print(json, &answer, |_| format!("{node} is removed"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_decides_is_told_who_had_asked() {
        let asked =
            json!({"on_behalf_of": "usr_eve", "previewed": true, "why": {"asked": "tidy up", "said": "I will"}});
        assert_eq!(notes(&asked), "\nusr_eve had asked:\n  | tidy up\nthe agent said:\n  | I will");
    }

    #[test]
    fn a_list_says_what_each_is_about() {
        for (params, about) in [(json!({"path": "a"}), "a"), (json!({"program": "ls"}), "ls"), (Value::Null, "")] {
            assert_eq!(short(&json!([{"params": params, "risk": {"level": "HIGH"}}]))[0]["about"], about);
        }
        let asked = json!({"node": "nod_1", "node_name": "laptop", "root_label": "work"});
        for (asked, machine) in [(asked, "laptop (work)"), (json!({"node": "nod_1"}), "nod_1")] {
            assert_eq!(short(&json!([asked]))[0]["machine"], machine);
            assert!(whole(&asked).contains(machine), "{}", whole(&asked));
        }
    }
}
