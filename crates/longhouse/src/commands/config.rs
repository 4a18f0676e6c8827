//! `longhouse config`: the file by itself, without a server and without changing anything.

use super::all_pages;
use crate::cli::{Actor, Config, Place};
use crate::client::Client;
use crate::config::{self, KnownPeople, Problem, counted};
use crate::{output, settings};
use anyhow::{Result, bail};
use domain::ids::UserId;
use serde_json::{Value, json};
use std::collections::BTreeSet;
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
            let known = people(place).await;
            if known == KnownPeople::Anybody {
                output::say("the house does not answer: whether members are people of it was not looked at");
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

/// Who is in the house of the data directory. A house that is still to be built will have its owner; one that does not
/// answer may have anybody.
async fn people(place: &Place) -> KnownPeople {
    if place.server.is_none() && !service::data_dir::is_house(&place.data_dir) {
        return settings::people_of_new_house();
    }
    let asked = tokio::time::timeout(PATIENCE, ask(place)).await;
    asked.ok().and_then(Result::ok).map_or(KnownPeople::Anybody, KnownPeople::These)
}

async fn ask(place: &Place) -> Result<BTreeSet<UserId>> {
    let client = Client::connect(place, false).await?;
    let users = all_pages(&client, &Actor::default(), &["admin", "users"], &[]).await;
    client.close().await;
    // Whom only the file names is there only while it does.
    let stays = |user: &Value| user["defined_in"].as_array().is_some_and(|said| said.contains(&json!("admin")));
    let stay = users?.into_iter().filter(stays);
    Ok(stay.filter_map(|user| user["id"].as_str().and_then(|id| UserId::parse(id).ok())).collect())
}
