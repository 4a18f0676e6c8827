//! The commands, each a client of the API.

mod addresses;
mod agents;
pub(crate) mod approvals;
mod audit;
mod chat;
mod config;
mod context;
mod doctor;
mod input;
mod items;
mod plugins;
mod policy;
mod projects;
mod sessions;
mod tasks;
mod tokens;
mod users;
mod workspaces;

use crate::cli::{self, Actor, Cli, Command, Place};
use crate::client::Client;
use crate::{connect, mcp, output, serve};
use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A person's own project, which every person has or will have.
const HOME: &str = "home";

pub(crate) async fn run(cli: Cli) -> Result<ExitCode> {
    let place = cli.place;
    // It was a session's word once; passed over in silence it would leave out what was asked for.
    if place.config.as_ref().is_some_and(|path| path.as_os_str().as_encoded_bytes().starts_with(b"{")) {
        return Err(cli::Usage("--config names the configuration file; --settings gives those of a session").into());
    }
    match cli.command {
        Command::Serve(options) => serve::run(&place, &options).await,
        Command::Chat(options) => chat::run(&place, options).await,
        Command::Connect(options) => connect::run(&place, &options).await,
        Command::Undo(options) => connect::undo(&place, &options).await,
        Command::Mcp(options) => mcp::run(&place, &options).await,
        Command::Config(command) => config::run(&place, command).await,
        Command::Restore { .. } if place.server.is_some() => {
            bail!("restore works on this machine only, not with --server")
        }
        Command::Restore { path } => restore(&place, &path).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "longhouse", &mut script);
            output::write(&script)?;
            Ok(ExitCode::SUCCESS)
        }
        command => {
            let makes = matches!(
                command,
                Command::User(_)
                    | Command::Token(_)
                    | Command::Session(cli::Session::Create { .. })
                    | Command::Project(cli::Project::Create { .. })
                    | Command::Workspace(cli::Workspace::Create { .. })
            );
            let client = Client::connect(&place, makes).await?;
            let outcome = ask(&client, &place, command).await;
            client.close().await;
            outcome
        }
    }
}

/// Commands that ask a Longhouse.
async fn ask(client: &Client, place: &Place, command: Command) -> Result<ExitCode> {
    match command {
        Command::User(command) => users::run(client, place.json, command).await?,
        Command::Token(command) => tokens::run(client, place.json, command).await?,
        Command::Session(command) => sessions::run(client, place.json, command).await?,
        Command::Context(command) => context::run(client, place.json, command).await?,
        Command::Workspace(command) => workspaces::run(client, place.json, command).await?,
        Command::Project(command) => projects::run(client, place.json, command).await?,
        Command::Agent(command) => agents::run(client, place.json, command).await?,
        Command::Tasks(command) => tasks::run(client, place.json, command).await?,
        Command::Approvals(command) => approvals::run(client, place.json, command).await?,
        Command::Pair(command) => approvals::pair(client, place.json, command).await?,
        Command::Nodes(command) => approvals::nodes(client, place.json, command).await?,
        Command::WorkerSpace(command) => tasks::run_space(client, place.json, command).await?,
        Command::Items(command) => items::run(client, place.json, command).await?,
        Command::Policy(command) => policy::run(client, place.json, command).await?,
        Command::Plugin(command) => plugins::run(client, place.json, command).await?,
        Command::Audit(command) => return audit::run(client, place.json, command).await,
        Command::Doctor { security } => return doctor::run(client, place, security).await,
        Command::Backup { path } => back_up(client, place.json, path).await?,
        Command::Serve(_)
        | Command::Chat(_)
        | Command::Connect(_)
        | Command::Undo(_)
        | Command::Mcp(_)
        | Command::Config(_)
        | Command::Restore { .. }
        | Command::Completions { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn back_up(client: &Client, json: bool, path: PathBuf) -> Result<()> {
    // The server has another working directory.
    let path = std::path::absolute(&path).with_context(|| format!("{} is not a path", path.display()))?;
    let answer = client.post(&Actor::default(), "/admin/backup", &json!({"path": path})).await?;
    let config = client.get(&Actor::default(), "/admin/config").await?;
    output::print(json, &answer, |answer| {
        let made = format!("backup made in {}", output::cell(&answer["path"]));
        match config["in_force"].as_str() {
            None => made,
            Some(file) => format!("{made}\nThe configuration file {file} and its skills are not in it: keep them too."),
        }
    })?;
    Ok(())
}

async fn restore(place: &Place, path: &Path) -> Result<ExitCode> {
    let storage_url = crate::settings::storage_url(place)?;
    service::backups::restore(path, &place.data_dir, storage_url.as_deref()).await?;
    let folder = place.data_dir.display();
    let with_secret = place.data_dir.join(service::data_dir::SECRET).exists();
    let answer = json!({"data_dir": place.data_dir, "restored_from": path, "with_secret": with_secret});
    output::print(place.json, &answer, |_| {
        let warning = if with_secret {
            ""
        } else {
            "\nIt came without its secret: set LONGHOUSE_SECRET to the one it had, or its tokens are void."
        };
        format!(
            "restored; start it with: longhouse serve --data-dir {folder} (and --config, if it had a file){warning}"
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A path with its query, every part escaped.
pub(crate) fn path(segments: &[&str], query: &[(&str, Option<&str>)]) -> String {
    let mut text: String = segments.iter().map(|segment| format!("/{}", escaped(segment))).collect();
    let given = query.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    for (index, (name, value)) in given.enumerate() {
        text.push(if index == 0 { '?' } else { '&' });
        text.push_str(&format!("{name}={}", escaped(value)));
    }
    text
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Every page of a list, as one.
pub(crate) async fn all_pages(
    client: &Client,
    actor: &Actor,
    segments: &[&str],
    query: &[(&str, Option<&str>)],
) -> Result<Vec<Value>> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut with_cursor = query.to_vec();
        with_cursor.extend([("limit", Some("500")), ("cursor", cursor.as_deref())]);
        let mut page = client.get(actor, &path(segments, &with_cursor)).await?;
        if let Some(found) = page["items"].as_array_mut() {
            items.append(found);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(items),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped() {
        assert_eq!(
            path(&["sessions", "a/b c"], &[("workspace", None), ("keys", Some("inv:*,a"))]),
            "/sessions/a%2Fb%20c?keys=inv%3A%2A%2Ca"
        );
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
