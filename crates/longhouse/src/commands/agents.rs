//! `longhouse agent …`

use super::addresses::locate;
use super::{all_pages, input, path};
use crate::cli::{Agent, AgentOptions, Audience, CreateAgent, InProject, OneAgent, UpdateAgent, Usage};
use crate::client::Client;
use crate::output::{cell, facts, items, print};
use anyhow::{Result, bail};
use axum::http::Method;
use serde_json::{Map, Value, json};

pub(super) async fn run(client: &Client, json: bool, command: Agent) -> Result<()> {
    match command {
        Agent::Create(wanted) => create(client, json, wanted).await?,
        Agent::List(place) => {
            let mut answer = client.get(&place.person.clone().into(), &all_of(&place)).await?;
            print(json, &answer["items"].take(), listing)?;
        }
        Agent::Show(one) => {
            let answer = ask(client, one, Method::GET, None).await?;
            print(json, &answer, described)?;
        }
        Agent::Update(wanted) => update(client, json, wanted).await?,
        Agent::Delete(one) => {
            let deleted = json!({"deleted": one.agent});
            ask(client, one, Method::DELETE, None).await?;
            print(json, &deleted, |answer| format!("deleted {}", cell(&answer["deleted"])))?;
        }
        Agent::Shared { person } => {
            let found = Value::Array(all_pages(client, &person.into(), &["agents", "shared"], &[]).await?);
            let fields = ["id", "name", "role", "audience", "member", "project", "workspace"];
            print(json, &found, |found| items(found, &fields))?;
        }
    }
    Ok(())
}

fn all_of(place: &InProject) -> String {
    path(&["my", "projects", &place.project, "agents"], &[("workspace", place.workspace.as_deref())])
}

async fn ask(client: &Client, one: OneAgent, method: Method, body: Option<&Value>) -> Result<Value> {
    let located = locate(client, one.into()).await?;
    client.call(&located.actor, method, &located.path(&[]), body).await
}

async fn create(client: &Client, json: bool, wanted: CreateAgent) -> Result<()> {
    let mut choice = chosen(wanted.options)?;
    choice.insert("name".to_owned(), wanted.name.into());
    let path = all_of(&wanted.place);
    let answer = client.post(&wanted.place.person.into(), &path, &choice.into()).await?;
    print(json, &answer, |answer| cell(&answer["id"]))
}

async fn update(client: &Client, json: bool, wanted: UpdateAgent) -> Result<()> {
    let mut choice = chosen(wanted.options)?;
    choice.extend(wanted.name.map(|name| ("name".to_owned(), name.into())));
    choice.extend(wanted.private.then(|| ("visibility".to_owned(), "private".into())));
    choice.extend(wanted.no_system_prompt.then(|| ("system_prompt".to_owned(), Value::Null)));
    choice.extend(wanted.all_tools.then(|| ("tools".to_owned(), Value::Null)));
    if choice.is_empty() {
        bail!(Usage("what shall change? `longhouse agent update --help` shows what can"));
    }
    let answer = ask(client, wanted.one, Method::PATCH, Some(&choice.into())).await?;
    print(json, &answer, described)
}

/// What was given, and nothing else: to the server, a field that is `null` is one to take away.
fn chosen(options: AgentOptions) -> Result<Map<String, Value>> {
    let prompt = match options.system_prompt_file {
        Some(file) => Some(input::file(&file)?),
        None => options.system_prompt,
    };
    let fields = [
        ("role", json!(options.role)),
        ("model", json!(options.model)),
        ("temperature", json!(options.temperature)),
        ("max_tokens", json!(options.max_tokens)),
        ("system_prompt", json!(prompt)),
        ("concurrency_limit", json!(options.concurrency)),
        ("visibility", json!(options.shared.then_some("shared"))),
        ("audience", json!(options.audience.map(word))),
        ("tools", json!(options.tools)),
    ];
    Ok(fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect())
}

fn word(audience: Audience) -> &'static str {
    match audience {
        Audience::Workspace => "workspace",
        Audience::Everyone => "everyone",
    }
}

pub(super) fn listing(agents: &Value) -> String {
    items(agents, &["id", "name", "role", "model", "temperature", "max_tokens", "visibility", "audience"])
}

fn described(agent: &Value) -> String {
    let mut agent = agent.clone();
    agent["tools"] = match agent["tools"].as_array() {
        Some(tools) => tools.iter().map(cell).collect::<Vec<_>>().join(", ").into(),
        None => "all".into(),
    };
    let fields = [
        "id",
        "name",
        "project",
        "role",
        "model",
        "temperature",
        "max_tokens",
        "concurrency_limit",
        "visibility",
        "audience",
        "tools",
        "created_at",
        "updated_at",
    ];
    let prompt = agent["system_prompt"].as_str().map_or(String::new(), |text| format!("\nsystem prompt:\n{text}\n"));
    format!("{}{prompt}", facts(&agent, &fields))
}
