//! A PostgreSQL of our own: from the distribution's package, in a folder of its own, on a free port, gone with us.

use crate::packages;
use crate::processes::{self, Server};
use anyhow::{Context, Result, bail};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(crate) struct Postgres {
    server: Option<Server>,
    programs: PathBuf,
    _folder: TempDir,
}

/// Who may run it: not root, so Debian's package brings an account.
struct Account {
    uid: u32,
    gid: u32,
}

impl Postgres {
    /// Starts one in a new folder below `parent`.
    pub(crate) fn start(parent: &Path) -> Result<Self> {
        let programs = programs()?;
        let account = account()?;
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir_in(parent)?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        let home = folder.path().join("home");
        std::fs::create_dir(&home)?;
        if let Some(account) = &account {
            chown(&home, Some(account.uid), Some(account.gid))?;
        }
        let data = home.join("data");
        let mut initdb = command(&programs, "initdb", account.as_ref(), &home);
        initdb.arg("-D").arg(&data).args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]);
        processes::output_of(&mut initdb)?;
        let address = processes::free_address()?;
        let mut postgres = command(&programs, "postgres", account.as_ref(), &home);
        postgres.arg("-D").arg(&data).args(["-p", &address.port().to_string(), "-h", "127.0.0.1"]);
        postgres.arg("-k").arg(&home).args(["-c", "max_connections=300"]);
        let log = folder.path().join("log");
        let server = Server::start_until(&mut postgres, address, &log, |address| is_ready(&programs, address))?;
        Ok(Self { server: Some(server), programs, _folder: folder })
    }

    fn address(&self) -> Result<SocketAddr> {
        Ok(self.server.as_ref().context("it runs")?.address)
    }

    pub(crate) fn url(&self) -> Result<String> {
        self.database("postgres")
    }

    pub(crate) fn database(&self, name: &str) -> Result<String> {
        Ok(format!("postgres://postgres@{}/{name}", self.address()?))
    }

    /// Where its programs are.
    pub(crate) fn programs(&self) -> &Path {
        &self.programs
    }

    /// Runs SQL that gives nothing.
    pub(crate) fn execute(&self, sql: &str) -> Result<()> {
        let mut psql = Command::new(self.programs.join("psql"));
        processes::output_of(psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-d", &self.url()?, "-c", sql]))?;
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // An orderly end frees its shared memory; if it takes too long it is killed all the same.
        if let Some(server) = self.server.take() {
            let _ = server.stop_with("INT");
        }
    }
}

/// The folder with the programs, which Debian keeps out of the PATH.
fn programs() -> Result<PathBuf> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    packages::ensure_package("postgresql")?;
    installed().context("the package postgresql is installed and still has no server")
}

fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin")).collect();
    found.retain(|bin| ["initdb", "postgres", "pgbench"].iter().all(|program| bin.join(program).is_file()));
    found.sort();
    found.pop()
}

fn account() -> Result<Option<Account>> {
    let id = |arguments: &[&str]| processes::output_of(Command::new("id").args(arguments));
    if id(&["-u"])? != "0" {
        return Ok(None);
    }
    let Ok(uid) = id(&["-u", "postgres"]) else { bail!("root cannot run PostgreSQL, and there is no user postgres") };
    Ok(Some(Account { uid: uid.parse()?, gid: id(&["-g", "postgres"])?.parse()? }))
}

fn command(programs: &Path, program: &str, account: Option<&Account>, home: &Path) -> Command {
    let mut command = Command::new(programs.join(program));
    command.current_dir(home);
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
    command
}

fn is_ready(programs: &Path, address: SocketAddr) -> bool {
    let port = address.port().to_string();
    let mut ask = Command::new(programs.join("pg_isready"));
    ask.args(["-q", "-h", "127.0.0.1", "-p", &port]);
    TcpStream::connect(address).is_ok() && ask.status().is_ok_and(|status| status.success())
}
