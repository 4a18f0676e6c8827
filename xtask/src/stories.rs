//! The example scripts, told to a real server: the built binary, an empty data directory, the owner's token.

use crate::packages;
use crate::processes::{self, Server};
use crate::totals::Totals;
use crate::workspace;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Runs the story of the shared context; counts the story and the server's orderly end.
pub(crate) fn shared_context(binary: &Path) -> Result<Totals> {
    if let Err(error) = packages::ensure("python3", "python3") {
        if packages::is_ci() {
            return Err(error);
        }
        println!("skipped: the example script needs python3: {error:#}");
        return Ok(Totals::SKIPPED);
    }
    let folder = tempfile::tempdir()?;
    let data_dir = folder.path().join("data");
    let address = processes::free_address()?;
    let mut serve = Command::new(binary);
    serve.arg("serve").arg("--data-dir").arg(&data_dir).arg("--listen").arg(address.to_string());
    let server = Server::start(&mut serve, address, &folder.path().join("server.log"))?;

    let token = owner_token(binary, &data_dir)?;
    let script = workspace::root().join("examples/shared_context_story.py");
    let mut story = Command::new("python3");
    story.arg(script).env("LONGHOUSE_URL", format!("http://{address}")).env("LONGHOUSE_TOKEN", token);
    let (status, _) = processes::run_and_listen(&mut story)?;
    if !status.success() {
        bail!("the story ended with {status}; the server said:\n{}", server.last_words());
    }
    server.stop()?;
    Ok(Totals { passed: 2, ..Totals::default() })
}

/// A token of the user that the first start makes.
pub(crate) fn owner_token(binary: &Path, data_dir: &Path) -> Result<String> {
    let mut command = Command::new(binary);
    command.args(["token", "create", "--user", "owner", "--data-dir"]).arg(data_dir);
    processes::output_of(&mut command)
}
