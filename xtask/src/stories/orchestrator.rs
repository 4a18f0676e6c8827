//! The example of own loops, with an imitated model in place of a real one: what it leaves behind is looked up by
//! command line, not believed; then it is shown what it must refuse plainly.

use super::{House, data_dir};
use crate::imitated_model::API_KEY;
use crate::processes::{self, Server};
use crate::totals::Totals;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const EXAMPLE: &str = "orchestrator.py";
const QUESTION: &str = "Why do 20 connections starve 200 threads?";

const WRITTEN: [(&str, &str); 6] = [
    ("constraints", "orchestrator"),
    ("draft", "subagent:write:1"),
    ("findings_summary", "subagent:research:1"),
    ("outline", "subagent:write:1"),
    ("output", "orchestrator"),
    ("problem_summary", "orchestrator"),
];

/// The tokens that the example takes ready made.
const TOKENS: [(&str, &str); 3] = [
    ("ORCHESTRATOR_TOKEN", "orchestrator"),
    ("RESEARCH_TOKEN", "subagent:research:1"),
    ("WRITE_TOKEN", "subagent:write:1"),
];

/// Counts both ways to run it, each way to fail, and the orderly ends of model and server.
pub(crate) fn orchestrator(binary: &Path) -> Result<Totals> {
    let Some(house) = House::start(binary)? else { return Ok(Totals::SKIPPED) };
    let model = imitated_model(&house)?;
    with_a_persons_token(&house, &model)?;
    with_tokens_ready_made(&house, &model)?;
    let failures = failures(&house, &model)?;
    // Its end tells whether every request was well formed.
    model.stop()?;
    house.server.stop()?;
    Ok(Totals { passed: 4 + failures, ..Totals::default() })
}

fn imitated_model(house: &House) -> Result<Server> {
    let address = processes::free_address()?;
    // Not `current_exe`: an earlier step may have built this very program anew, and its file is then another one.
    let mut command = Command::new("/proc/self/exe");
    command.args(["imitated-model", "--listen", &address.to_string()]);
    Server::start(&mut command, address, &house.folder.path().join("model.log"))
}

fn example(house: &House, model: &Server) -> Command {
    let mut command = house.example(EXAMPLE);
    command.arg(QUESTION).env("OPENAI_BASE_URL", format!("http://{}/v1", model.address));
    command.env("OPENAI_API_KEY", API_KEY).env("OPENAI_MODEL", "imitation");
    // Whoever runs the tests may work in a session of their own.
    command.env_remove("LONGHOUSE_SESSION");
    command
}

fn with_a_persons_token(house: &House, model: &Server) -> Result<()> {
    house.tell(example(house, model).env("LONGHOUSE_TOKEN", house.owner_token()?))?;
    let sessions = look_up(house, &["session", "list"])?;
    let session = sessions[0]["id"].as_str().context("it left no session")?;
    check_outcome(house, session, "archived")
}

fn with_tokens_ready_made(house: &House, model: &Server) -> Result<()> {
    look_up(house, &["session", "create", "ready-made"])?;
    let mut example = example(house, model);
    example.env("LONGHOUSE_SESSION", "ready-made").env_remove("LONGHOUSE_TOKEN");
    for (name, participant) in TOKENS {
        let mut command = longhouse(house);
        command.args(["token", "create", "--user", "owner", "--session", "ready-made", "--participant", participant]);
        example.env(name, processes::output_of(&mut command)?);
    }
    house.tell(&mut example)?;
    check_outcome(house, "ready-made", "active")
}

fn check_outcome(house: &House, session: &str, state: &str) -> Result<()> {
    let shown = look_up(house, &["session", "show", session])?;
    ensure!(shown["state"] == state, "the session should be {state}: {shown}");
    let listing = look_up(house, &["context", "list", "-s", session])?;
    let keys = listing["keys"].as_array().context("a listing without keys")?;
    let written: Vec<_> = keys.iter().map(|entry| (entry["key"].as_str(), entry["written_by"].as_str())).collect();
    let expected = WRITTEN.map(|(key, participant)| (Some(key), Some(participant)));
    ensure!(written == expected, "who wrote what: {listing}");
    // The imitated model quotes what it read: the question reached research, the findings the writer, both the output.
    let quotes = [
        ("findings_summary", QUESTION),
        ("draft", "[findings_summary: subagent:research:1 on findings_summary"),
        ("output", "[findings_summary: subagent:research:1 on findings_summary"),
        ("output", "[draft: subagent:write:1 on draft"),
    ];
    for (key, quote) in quotes {
        let entry = look_up(house, &["context", "read", "-s", session, key])?;
        ensure!(entry["value"].as_str().is_some_and(|value| value.contains(quote)), "{key} lacks “{quote}”: {entry}");
    }
    Ok(())
}

/// Each is told in one line, with exit code 1, and leaves no session open; answers how many there are.
fn failures(house: &House, model: &Server) -> Result<u64> {
    let owner_token = house.owner_token()?;
    let nobody = format!("http://{}/v1", processes::free_address()?);
    let cases = [
        ("OPENAI_BASE_URL", nobody.as_str(), "orchestrator: no answer from http://127.0.0.1:"),
        ("OPENAI_API_KEY", "sk-wrong", "answered 401: the API key is wrong"),
        ("LONGHOUSE_TOKEN", "wrong", "answered 401: a valid bearer token is needed"),
    ];
    for (name, value, words) in cases {
        let mut command = example(house, model);
        let output = command.env("LONGHOUSE_TOKEN", &owner_token).env(name, value).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(1), "{name} is wrong, and it ended with {}: {said}", output.status);
        ensure!(said.lines().count() == 1 && said.contains(words), "{name} is wrong, and it said: {said}");
    }
    let sessions = look_up(house, &["session", "list"])?;
    let open = sessions.as_array().into_iter().flatten().filter(|session| session["state"] == "active");
    let open: Vec<_> = open.filter_map(|session| session["id"].as_str()).collect();
    ensure!(open == ["ready-made"], "these sessions are still open: {open:?}");
    Ok(cases.len() as u64)
}

fn longhouse(house: &House) -> Command {
    let mut command = Command::new(&house.binary);
    command.arg("--data-dir").arg(data_dir(&house.folder));
    command
}

fn look_up(house: &House, arguments: &[&str]) -> Result<Value> {
    Ok(serde_json::from_str(&processes::output_of(longhouse(house).arg("--json").args(arguments))?)?)
}
