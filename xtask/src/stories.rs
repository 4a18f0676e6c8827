//! The example scripts and the guides, told to a real server: the built binary, an empty data directory.

mod household;
mod orchestrator;

pub(crate) use household::household;
pub(crate) use orchestrator::orchestrator;

use crate::packages;
use crate::processes::{self, Server};
use crate::totals::Totals;
use crate::workspace;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Runs the story of the shared context; counts the story and the server's orderly end.
pub(crate) fn shared_context(binary: &Path) -> Result<Totals> {
    let Some(house) = House::start(binary)? else { return Ok(Totals::SKIPPED) };
    let mut story = house.example("shared_context_story.py");
    house.tell(story.env("LONGHOUSE_TOKEN", house.owner_token()?))?;
    house.server.stop()?;
    Ok(Totals { passed: 2, ..Totals::default() })
}

/// A server with nothing in it yet.
struct House {
    server: Server,
    binary: PathBuf,
    folder: TempDir,
}

impl House {
    /// None where python3, which every example needs, is missing and may be.
    fn start(binary: &Path) -> Result<Option<Self>> {
        if let Err(error) = packages::ensure("python3", "python3") {
            if packages::is_ci() {
                return Err(error);
            }
            println!("skipped: the example script needs python3: {error:#}");
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let address = processes::free_address()?;
        let mut serve = Command::new(binary);
        serve.arg("serve").arg("--data-dir").arg(data_dir(&folder)).arg("--listen").arg(address.to_string());
        let server = Server::start(&mut serve, address, &folder.path().join("server.log"))?;
        Ok(Some(Self { server, binary: binary.to_path_buf(), folder }))
    }

    fn owner_token(&self) -> Result<String> {
        owner_token(&self.binary, &data_dir(&self.folder))
    }

    fn example(&self, name: &str) -> Command {
        let mut command = Command::new("python3");
        command.arg(workspace::root().join("examples").join(name));
        command.env("LONGHOUSE_URL", format!("http://{}", self.server.address));
        command
    }

    /// Runs an example that must succeed.
    fn tell(&self, example: &mut Command) -> Result<()> {
        let (status, _) = processes::run_and_listen(example)?;
        if !status.success() {
            bail!("the example ended with {status}; the server said:\n{}", self.server.last_words());
        }
        Ok(())
    }
}

fn data_dir(folder: &TempDir) -> PathBuf {
    folder.path().join("data")
}

/// A token of the user that the first start makes.
pub(crate) fn owner_token(binary: &Path, data_dir: &Path) -> Result<String> {
    token_of(binary, data_dir, "owner")
}

pub(crate) fn token_of(binary: &Path, data_dir: &Path, user: &str) -> Result<String> {
    let mut command = Command::new(binary);
    command.args(["token", "create", "--user", user, "--data-dir"]).arg(data_dir);
    processes::output_of(&mut command)
}
