//! `longhouse tasks …` and `longhouse worker-space …`

use super::{HOME, path};
use crate::cli::{Actor, AtWork, OneTask, Tasks, WorkerSpace};
use crate::client::Client;
use crate::output::{cell, facts, items, print, texts};
use anyhow::Result;
use axum::http::Method;
use serde_json::Value;

/// The workspace of which that project is meant.
const PERSONAL: &str = "personal";

pub(super) async fn run(client: &Client, json: bool, command: Tasks) -> Result<()> {
    match command {
        Tasks::List { status, last, place } => {
            let last = last.to_string();
            let query = [("status", status.as_deref()), ("limit", Some(last.as_str()))];
            let mut answer = ask(client, place, Method::GET, &["tasks"], &query).await?;
            let fields = ["id", "agent", "status", "priority", "session", "created_at", "ended_at", "error"];
            print(json, &answer["items"].take(), |found| items(&with_codes(found), &fields))
        }
        Tasks::Show(one) => told(client, json, one, Method::GET, None).await,
        Tasks::Cancel(one) => told(client, json, one, Method::POST, Some("cancel")).await,
    }
}

pub(super) async fn run_space(client: &Client, json: bool, command: WorkerSpace) -> Result<()> {
    let (place, method, parts) = match command {
        WorkerSpace::Show(place) => (place, Method::GET, &["worker-space"][..]),
        WorkerSpace::Cleanup(place) => (place, Method::POST, &["worker-space", "cleanup"][..]),
    };
    let answer = ask(client, place, method, parts, &[]).await?;
    print(json, &answer, space)
}

async fn told(client: &Client, json: bool, one: OneTask, method: Method, part: Option<&str>) -> Result<()> {
    let parts: Vec<&str> = ["tasks", &one.id].into_iter().chain(part).collect();
    let answer = ask(client, one.place, method, &parts, &[]).await?;
    print(json, &answer, task)
}

async fn ask(
    client: &Client,
    place: AtWork,
    method: Method,
    parts: &[&str],
    query: &[(&str, Option<&str>)],
) -> Result<Value> {
    let AtWork { project, workspace, person } = place;
    // A variable of the environment that is empty says nothing.
    let project = project.filter(|text| !text.is_empty());
    let workspace = workspace.or_else(|| project.is_none().then(|| PERSONAL.to_owned()));
    let mut segments = vec!["my", "projects", project.as_deref().unwrap_or(HOME)];
    segments.extend(parts);
    let mut all = vec![("workspace", workspace.as_deref())];
    all.extend_from_slice(query);
    client.call(&Actor::from(person), method, &path(&segments, &all), None).await
}

fn with_codes(found: &Value) -> Value {
    let mut found = found.clone();
    for task in found.as_array_mut().into_iter().flatten() {
        task["error"] = task["error"]["code"].take();
    }
    found
}

fn task(task: &Value) -> String {
    let mut task = task.clone();
    if task["error"].is_object() {
        task["error"] = format!("{}: {}", cell(&task["error"]["code"]), cell(&task["error"]["message"])).into();
    }
    let fields = [
        "id",
        "status",
        "error",
        "agent",
        "priority",
        "session",
        "message_id",
        "on_behalf_of",
        "created_at",
        "started_at",
        "ended_at",
    ];
    facts(&task, &fields)
}

fn space(space: &Value) -> String {
    let mut space = space.clone();
    space["reasons"] = texts(&space["reasons"]).into();
    let about = facts(&space, &["status", "health", "reasons", "last_active_at"]);
    let fields = [
        "agents",
        "active_agents",
        "queued_tasks",
        "running_tasks",
        "waiting_tasks",
        "tasks_ended",
        "mean_task_ms",
        "longest_task_ms",
    ];
    format!("{about}\n{}", facts(&space["metrics"], &fields))
}
