//! `longhouse workspace …`

use super::{all_pages, path};
use crate::cli::{Actor, OneWorkspace, Reply, Workspace, WorkspaceOptions};
use crate::client::Client;
use crate::output::{cell, facts, items, print, texts};
use anyhow::Result;
use axum::http::Method;
use serde_json::{Map, Value, json};

pub(super) async fn run(client: &Client, json: bool, command: Workspace) -> Result<()> {
    let answer = match command {
        Workspace::List { all, person } => {
            let segments: &[&str] = if all { &["admin", "workspaces"] } else { &["workspaces"] };
            let found = Value::Array(all_pages(client, &person.into(), segments, &[]).await?);
            return print(json, &found, listing);
        }
        Workspace::Budget(OneWorkspace { name, person }) => {
            let answer = client.get(&person.into(), &path(&["workspaces", &name, "budget"], &[])).await?;
            return print(json, &answer, spending);
        }
        Workspace::Delete { name, with_data } => {
            let with_data = with_data.then_some("true");
            let path = path(&["admin", "workspaces", &name], &[("with_data", with_data)]);
            client.call(&Actor::default(), Method::DELETE, &path, None).await?;
            return print(json, &json!({"deleted": name}), |answer| format!("deleted {}", cell(&answer["deleted"])));
        }
        Workspace::Show(OneWorkspace { name, person }) => {
            client.get(&person.into(), &path(&["workspaces", &name], &[])).await?
        }
        Workspace::Create { name, members, settings } => {
            let mut body = changes(settings, false);
            body.insert("name".into(), name.into());
            body.insert("members".into(), members.into());
            client.post(&Actor::default(), "/admin/workspaces", &Value::Object(body)).await?
        }
        Workspace::Update { name, settings, no_budget } => {
            let body = Value::Object(changes(settings, no_budget));
            change(client, Method::PATCH, &[&name], Some(&body)).await?
        }
        Workspace::AddMember { name, user } => change(client, Method::PUT, &[&name, "members", &user], None).await?,
        Workspace::RemoveMember { name, user } => {
            change(client, Method::DELETE, &[&name, "members", &user], None).await?
        }
        Workspace::Bind { name, channel, chat_id, guild_id, channel_id, reply } => {
            let reply = reply.map(|reply| match reply {
                Reply::Mention => "mention",
                Reply::All => "all",
            });
            let given = [("chat_id", chat_id), ("guild_id", guild_id), ("channel_id", channel_id)];
            let mut body = json!({"channel": channel, "reply": reply});
            given.into_iter().for_each(|(field, id)| body[field] = json!(id));
            change(client, Method::POST, &[&name, "bindings"], Some(&body)).await?
        }
        Workspace::Unbind { name, place } => change(client, Method::DELETE, &[&name, "bindings", &place], None).await?,
    };
    print(json, &answer, described)
}

async fn change(client: &Client, method: Method, segments: &[&str], body: Option<&Value>) -> Result<Value> {
    let path = path(&[&["admin", "workspaces"], segments].concat(), &[]);
    client.call(&Actor::default(), method, &path, body).await
}

/// Only what was given.
fn changes(options: WorkspaceOptions, no_budget: bool) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |field: &str, value: Value, given: bool| {
        if given {
            body.insert(field.to_owned(), value);
        }
    };
    put("description", json!(options.description), options.description.is_some());
    put("model", json!(options.model), options.model.is_some());
    // An empty word is how a list is emptied.
    let list = |words: Vec<String>| {
        let given = !words.is_empty();
        given.then(|| json!(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>()))
    };
    for (field, words) in [("skills", list(options.skills)), ("nodes", list(options.nodes))] {
        let given = words.is_some();
        put(field, json!(words), given);
    }
    let lists = [("allow", list(options.allow)), ("deny", list(options.deny))];
    let tools: Map<String, Value> =
        lists.into_iter().filter_map(|(field, words)| Some((field.to_owned(), words?))).collect();
    let given = !tools.is_empty();
    put("tools", Value::Object(tools), given);
    let budget = [
        ("daily_usd", options.daily_usd.map(Value::Number)),
        ("member_daily_usd", options.member_daily_usd.map(Value::Number)),
        ("timezone", options.timezone.map(Value::String)),
    ];
    let budget: Map<String, Value> =
        budget.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))).collect();
    let given = !budget.is_empty();
    put("budget", if no_budget { Value::Null } else { Value::Object(budget) }, given || no_budget);
    body
}

fn names(list: &Value, field: &str) -> String {
    let names: Vec<String> = list.as_array().into_iter().flatten().map(|item| cell(&item[field])).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(" ") }
}

/// Somebody's own is there because they are.
fn said_by(workspace: &Value) -> Value {
    match (&workspace["open"], &workspace["personal"]) {
        (_, Value::Bool(true)) => "-".into(),
        (Value::Bool(false), _) => "nobody: it is closed, and keeps what is in it".into(),
        _ => texts(&workspace["defined_in"]).into(),
    }
}

fn listing(found: &Value) -> String {
    let mut found = found.clone();
    for workspace in found.as_array_mut().into_iter().flatten() {
        workspace["members"] = names(&workspace["members"], "user").into();
        workspace["said by"] = said_by(workspace);
        workspace["budget"] = workspace["budget"]["daily_usd"].take();
    }
    items(&found, &["id", "members", "model", "budget", "said by", "description"])
}

fn described(workspace: &Value) -> String {
    let mut shown = workspace.clone();
    shown["said by"] = said_by(workspace);
    for field in ["nodes", "skills"] {
        shown[field] = texts(&workspace[field]).into();
    }
    shown["allow"] = texts(&workspace["tools"]["allow"]).into();
    shown["deny"] = texts(&workspace["tools"]["deny"]).into();
    shown["budget"] = match &workspace["budget"]["daily_usd"] {
        Value::Null => "no limit".into(),
        limit => format!("{limit} USD a day").into(),
    };
    shown["home"] = workspace["home_project"].clone();
    let about = ["id", "description", "said by", "model", "allow", "deny", "skills", "nodes", "budget", "home"];
    let mut people = workspace["members"].clone();
    for member in people.as_array_mut().into_iter().flatten() {
        member["said by"] = texts(&member["defined_in"]).into();
        member["member"] = member["user"].take();
    }
    let mut text = format!("{}\n{}", facts(&shown, &about), items(&people, &["member", "role", "said by"]));
    let mut places = workspace["bindings"].clone();
    for place in places.as_array_mut().into_iter().flatten() {
        place["said by"] = place["defined_in"].take();
    }
    if places.as_array().is_some_and(|places| !places.is_empty()) {
        text.push_str(&format!("\n{}", items(&places, &["place", "reply", "said by"])));
    }
    text
}

fn spending(budget: &Value) -> String {
    let about = ["limit_usd", "spent_usd", "reserved_usd", "remaining_usd", "resets_at", "timezone"];
    let mut text = facts(budget, &about);
    for (list, name) in [("by_member", "user"), ("by_agent", "agent"), ("by_day", "day")] {
        // Of the days only those that cost something.
        let rows = budget[list].as_array().into_iter().flatten().filter(|row| list != "by_day" || row["calls"] != 0);
        let rows: Value = rows.cloned().collect();
        if rows.as_array().is_some_and(|rows| !rows.is_empty()) {
            text.push_str(&format!("\n{}", items(&rows, &[name, "calls", "spent_usd"])));
        }
    }
    text
}
