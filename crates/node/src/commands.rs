//! Running a program in confinement: an argument list, never a shell's text.
//!
//! The program comes from the system's directories, its environment from a list of names, its home is an empty directory of its own.
//! It is started by a helper that confines itself first (`confinement`). Its process group ends with it: at its end, at the
//! deadline, when it has too many processes, and when nobody waits any more. Nothing in the root decides any of this.
//! Handles are not passed on, neither those that the daemon was started with nor those it opens itself.

mod environments;
mod groups;
mod outputs;
mod programs;
mod supervision;

pub use environments::environment_names;
pub use programs::{Program, Programs};
pub use supervision::Running;

use crate::confinement::{Limits, Order};
use crate::directories::{self, StateDirectory};
use crate::marks::random;
use crate::{Error, Fault, Result, Root};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Of each of the two streams.
pub const OUTPUT_LIMIT_BYTES: usize = 256 * 1024;
const LONGEST_S: u64 = 300;
const USUAL_S: u64 = 30;
const LARGEST_ARGUMENTS_BYTES: usize = 1_000_000;
const RUNS: &str = "runs";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCommand {
    pub program: String,
    #[serde(default)]
    pub args: Vec<String>,
    pub cwd: Option<String>,
    #[serde(default = "usual_s")]
    pub timeout_s: u64,
}

fn usual_s() -> u64 {
    USUAL_S
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Executed {
    /// Whether the program ended by itself and with 0.
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// In seconds.
    pub execution_time: f64,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// How the helper is started: usually this very binary, with a first argument that leads to `confinement::confine_and_exec`.
#[derive(Debug, Clone)]
pub struct Launcher {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// This binary as it runs, also if the file was replaced since.
    pub fn this_binary(first_argument: &str) -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments: vec![first_argument.into()] }
    }
}

/// What the kernel does for us beyond what we insist on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Confinement {
    /// The version of Landlock that is in force.
    pub landlock: u32,
    /// TCP is refused by Landlock too, not only by the filter of system calls.
    pub tcp_rules: bool,
    /// Signals reach only the command's own processes by Landlock; otherwise it can send none.
    pub scopes: bool,
    /// The kernel counts processes. Root's are counted by the node alone, which comes a moment later.
    pub counts_processes: bool,
}

/// Runs commands below one root. There is none where the kernel cannot confine.
pub struct Runner {
    root: Root,
    runs: PathBuf,
    launcher: Launcher,
    programs: Programs,
    limits: Limits,
    confinement: Confinement,
}

impl Runner {
    /// Runs a program in confinement once, to see that it works; `COMMANDS_OFF` says why if not.
    pub fn open(root: &Root, state: &StateDirectory, launcher: Launcher, limits: Limits) -> Result<Self> {
        if root.encloses(state.path())? {
            return Err(Error::CommandsOff("the state directory lies inside the root".to_owned()));
        }
        crate::confinement::check_kernel()?;
        let runs = state.inside(RUNS)?;
        // What a crash left: the processes that used it are gone or confined to it.
        std::fs::remove_dir_all(&runs).map_err(Error::io("removing what old commands left"))?;
        directories::private_directory(&runs)?;
        let confinement = Confinement { landlock: 0, tcp_rules: false, scopes: false, counts_processes: false };
        let mut runner = Self { root: root.clone(), runs, launcher, programs: Programs::system(), limits, confinement };
        runner.confinement = runner.probe()?;
        Ok(runner)
    }

    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Starts the command. It ends with what is returned.
    pub fn start(&self, request: &RunCommand, network: bool) -> Result<Running> {
        request.check()?;
        let program = self.programs.find(&request.program, &self.root)?;
        let directory = self.root.directory(request.cwd.as_deref().unwrap_or("."))?;
        let run = RunDirectory::create(&self.runs)?;
        let order = Order::new(&self.root, &run, program, request.args.clone(), network, self.limits)?;
        let timeout = Duration::from_secs(request.timeout_s);
        Ok(Running::start(self.launcher.clone(), order, directory, run, timeout))
    }

    /// Starts the command and waits for its end.
    pub fn run(&self, request: &RunCommand, network: bool) -> Result<Executed> {
        self.start(request, network)?.wait()
    }

    fn probe(&self) -> Result<Confinement> {
        let request = RunCommand { program: "true".to_owned(), args: Vec::new(), cwd: None, timeout_s: 10 };
        let running = self.start(&request, false)?;
        let (executed, confinement) = running.wait_and_tell()?;
        match confinement {
            Some(confinement) if executed.success => Ok(confinement),
            _ => Err(Error::CommandsOff("a program that does nothing did not end well in confinement".to_owned())),
        }
    }
}

impl RunCommand {
    /// The form, as far as it can be judged without looking at anything.
    pub(crate) fn check(&self) -> Result<()> {
        if self.timeout_s == 0 || self.timeout_s > LONGEST_S {
            return Err(Error::InvalidArgument("a command has 1 to 300 seconds"));
        }
        if self.args.iter().map(|argument| argument.len() + 1).sum::<usize>() > LARGEST_ARGUMENTS_BYTES {
            return Err(Error::TooLarge { what: "the argument list", limit_bytes: LARGEST_ARGUMENTS_BYTES as u64 });
        }
        if self.args.iter().any(|argument| argument.contains('\0')) {
            return Err(Error::InvalidArgument("an argument contains a NUL"));
        }
        Ok(())
    }
}

/// A directory for one command: `home`, which it may use, and `report`, where the helper says what became of it.
#[derive(Debug)]
pub(crate) struct RunDirectory(PathBuf);

impl RunDirectory {
    fn create(runs: &Path) -> Result<Self> {
        let run = Self(runs.join(HEXLOWER.encode(&random::<8>()?)));
        directories::private_directory(&run.0)?;
        directories::private_directory(&run.home().join("tmp"))?;
        directories::create(&run.report())?;
        Ok(run)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    pub(crate) fn report(&self) -> PathBuf {
        self.0.join("report")
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
