//! `longhouse config`: the file by itself. Nothing is opened or changed for it; a server that runs is asked who lives there.

use super::all_pages;
use crate::cli::{Actor, Config, Place};
use crate::client::Client;
use crate::config::{self, KnownPeople, Problem, counted};
use crate::{output, settings};
use anyhow::{Result, bail};
use domain::ids::UserId;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// A house that does not answer is no reason to wait.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn run(place: &Place, command: Config) -> Result<ExitCode> {
    match command {
        Config::Schema => {
            output::print(true, &config::schema(), |_| String::new())?;
            Ok(ExitCode::SUCCESS)
        }
        Config::Check { file } => {
            let Some(path) = file.or_else(|| settings::config_file(place)) else {
                bail!("there is no {} here: name a file", config::DEFAULT_FILE);
            };
            let known = people(place, &path).await;
            if known == KnownPeople::Anybody {
                let why = if place.server.is_some() { "the server does not answer" } else { "no server runs" };
                output::say(&format!("{why}: whether members are people of the house was not looked at"));
            }
            let (problems, warnings) = match config::load(&path, &known) {
                Ok(loaded) => (Vec::new(), loaded.warnings),
                Err(rejected) => (rejected.problems, rejected.warnings),
            };
            answer(place.json, &problems, &warnings)?;
            Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

fn answer(json: bool, problems: &[Problem], warnings: &[Problem]) -> Result<()> {
    let as_json = |list: &[Problem]| list.iter().map(Problem::as_json).collect::<Value>();
    let answer = json!({"ok": problems.is_empty(), "problems": as_json(problems), "warnings": as_json(warnings)});
    output::print(json, &answer, |_| {
        let mut lines = config::lines(problems);
        lines.extend(config::lines(warnings).into_iter().map(|line| format!("warning: {line}")));
        let found = if problems.is_empty() { "ok".to_owned() } else { counted(problems.len(), "problem") };
        let told =
            if warnings.is_empty() { String::new() } else { format!(", {}", counted(warnings.len(), "warning")) };
        lines.push(found + &told);
        lines.join("\n")
    })
}

/// Who is in the house, as its server says. Nothing is opened for it: a look must not upgrade a house, nor keep one from
/// starting. Without a server a house that is still to be built will have its owner, another one may have anybody.
async fn people(place: &Place, config: &Path) -> KnownPeople {
    match tokio::time::timeout(PATIENCE, ask(place)).await {
        Ok(Ok(Some(people))) => KnownPeople::These(people),
        _ if place.server.is_some() => KnownPeople::Anybody,
        _ => settings::people_unasked(place, config),
    }
}

/// None if no server runs.
async fn ask(place: &Place) -> Result<Option<BTreeSet<UserId>>> {
    let client = match &place.server {
        Some(_) => Client::connect(place, false).await?,
        None => match Client::to_server_of(place).await {
            Some(client) => client,
            None => return Ok(None),
        },
    };
    let users = all_pages(&client, &Actor::default(), &["admin", "users"], &[]).await?;
    // Whom only the file names is there only while it does.
    let stays = |user: &Value| user["defined_in"].as_array().is_some_and(|said| said.contains(&json!("admin")));
    let stay = users.into_iter().filter(stays);
    Ok(Some(stay.filter_map(|user| user["id"].as_str().and_then(|id| UserId::parse(id).ok())).collect()))
}
