//! The guide for a household, followed: its file, its commands, in an empty folder, as a reader would. What it promises is
//! looked for in what the commands answer.

use crate::packages;
use crate::processes::{self, Server};
use crate::totals::Totals;
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const GUIDE: &str = "docs/guides/one-gateway-for-a-household.md";
const ADDRESS: &str = "localhost:7700";
const BACKUP: &str = "/tmp/household-backup";
const SERVE: &str = "longhouse serve\n";

/// What the commands answer, in this order.
const PROMISED: [&str; 17] = [
    "none\n",
    "\"decision\":\"routed\"",
    "NOT_A_MEMBER",
    "usr_wife   member  file",
    "homelab  usr_sean           claude-opus-4-6  50.0    file",
    "/#/sign-in/",
    "\"id\":\"personal-usr_wife\"",
    "ALLOW by workspace `calendar.*`",
    "DENY by deny `calendar.delete`",
    "DENY by workspace: nothing in `tools.allow` of workspace `family` stands for `k8s.get`",
    "DENY by workspace `members`",
    "Friday is pizza",
    "limit_usd      5.0",
    "usr_nora  guest  admin",
    "FAILED longhouse workspace update family --daily-usd 7",
    "member.add",
    "backup made in",
];

/// Counts the check of the file, every promise, and the server's orderly end.
pub(crate) fn household(binary: &Path) -> Result<Totals> {
    for program in ["bash", "curl", "python3"] {
        packages::ensure(program, program)?;
    }
    let guide = std::fs::read_to_string(workspace::root().join(GUIDE))?;
    let folder = tempfile::tempdir()?;
    let file = blocks(&guide, "yaml").into_iter().next().context("the guide shows a file")?;
    std::fs::write(folder.path().join("longhouse.yaml"), file)?;
    std::fs::create_dir(folder.path().join("bin"))?;
    symlink(binary, folder.path().join("bin/longhouse"))?;
    let commands = blocks(&guide, "sh");
    let start = commands.iter().position(|block| *block == SERVE).context("the guide starts the server")?;

    let checked = follow(folder.path(), &commands[..start].concat())?;
    ensure!(checked.contains("\nok, ") && !checked.contains("FAILED"), "the guide's file is refused");
    let address = processes::free_address()?;
    let mut serve = Command::new(binary);
    serve.current_dir(folder.path()).args(["serve", "--listen", &address.to_string()]);
    let server = Server::start(&mut serve, address, &folder.path().join("server.log"))?;
    let backup = folder.path().join("backup").display().to_string();
    let script = commands[start + 1..].concat().replace(ADDRESS, &address.to_string()).replace(BACKUP, &backup);
    let mut rest = &*follow(folder.path(), &script)?;
    ensure!(rest.matches("FAILED").count() == 1, "commands of the guide fail");
    for promise in PROMISED {
        let at = rest.find(promise).with_context(|| format!("the guide's commands do not answer: {promise}"))?;
        rest = &rest[at + promise.len()..];
    }
    ensure!(!rest.contains("unhealthy"), "the doctor at the end is not content");
    server.stop()?;
    Ok(Totals { passed: PROMISED.len() as u64 + 3, ..Totals::default() })
}

/// The blocks of one language, without their fences.
fn blocks<'a>(guide: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    guide.split(&*opening).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Runs commands as a reader types them: one that fails is told, and the next follows.
fn follow(folder: &Path, commands: &str) -> Result<String> {
    let path = format!("{}/bin:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let script = format!("exec 2>&1\ntrap 'echo FAILED $BASH_COMMAND' ERR\n{commands}");
    let mut bash = Command::new("bash");
    bash.current_dir(folder).args(["-c", &script]).env("PATH", path);
    for setting in ["LONGHOUSE_TOKEN", "LONGHOUSE_SERVER", "LONGHOUSE_DATA_DIR", "LONGHOUSE_CONFIG"] {
        bash.env_remove(setting);
    }
    Ok(processes::run_and_listen(&mut bash)?.1)
}
