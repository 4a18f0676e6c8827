//! `longhouse project …`

use super::{agents, all_pages, path};
use crate::cli::{Actor, OneProject, Project, ProjectApproval};
use crate::client::Client;
use crate::output::{cell, facts, items, print};
use anyhow::Result;
use axum::http::Method;
use serde_json::{Value, json};

pub(super) async fn run(client: &Client, json: bool, command: Project) -> Result<()> {
    match command {
        Project::Create { name, workspace, approval, person } => {
            let body = json!({"name": name, "workspace": workspace, "approval": approval.map(word)});
            let answer = client.post(&person.into(), "/my/projects", &body).await?;
            print(json, &answer, |answer| cell(&answer["id"]))?;
        }
        Project::List { workspace, person } => {
            let query = [("workspace", workspace.as_deref())];
            let found = Value::Array(all_pages(client, &person.into(), &["my", "projects"], &query).await?);
            print(json, &found, listing)?;
        }
        Project::Show(one) => {
            let answer = ask(client, one, Method::GET, None).await?;
            print(json, &answer, described)?;
        }
        Project::Rename { one, name } => {
            let answer = ask(client, one, Method::PATCH, Some(&json!({"name": name}))).await?;
            print(json, &answer, |answer| format!("{} is called {}", cell(&answer["id"]), cell(&answer["name"])))?;
        }
        Project::Update { one, approval } => {
            let answer = ask(client, one, Method::PATCH, Some(&json!({"approval": word(approval)}))).await?;
            print(json, &answer, |answer| format!("{} asks {}", cell(&answer["id"]), cell(&answer["approval"])))?;
        }
        Project::Delete(one) => {
            let deleted = json!({"deleted": one.project});
            ask(client, one, Method::DELETE, None).await?;
            print(json, &deleted, |answer| format!("deleted {}", cell(&answer["deleted"])))?;
        }
    }
    Ok(())
}

fn word(approval: ProjectApproval) -> &'static str {
    match approval {
        ProjectApproval::ByRisk => "by_risk",
        ProjectApproval::Always => "always",
    }
}

async fn ask(client: &Client, one: OneProject, method: Method, body: Option<&Value>) -> Result<Value> {
    let path = path(&["my", "projects", &one.project], &[("workspace", one.workspace.as_deref())]);
    client.call(&Actor::from(one.person), method, &path, body).await
}

fn listing(found: &Value) -> String {
    let mut found = found.clone();
    for project in found.as_array_mut().into_iter().flatten() {
        project["agents"] = project["agents"].as_array().map_or(0, Vec::len).into();
    }
    items(&found, &["id", "name", "agents", "workspace", "created_by", "created_at"])
}

fn described(project: &Value) -> String {
    let mut project = project.clone();
    project["worker_space"] = project["worker_space"]["status"].take();
    let about = facts(&project, &["id", "name", "workspace", "approval", "worker_space", "created_by", "created_at"]);
    format!("{about}\n{}", agents::listing(&project["agents"]))
}
