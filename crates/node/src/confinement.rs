//! The helper: a process that reads an order, confines itself, and becomes the program. It runs in a process of its own, because
//! what it gives up cannot be had back.
//!
//! What must hold before the program starts: no new privileges, no capabilities, limits, writing only below the root and the
//! command's own home, reading only these and what of the system a program needs, no network unless granted, no leaving of the
//! process group, and no handle that anybody before us has opened. What Landlock does not know of stays possible for files outside: to see that they exist, and for one's own to
//! change mode and times. If any of it cannot be had, the program does not start, and the report says why.

mod filters;
mod handles;
mod limits;
mod rules;

pub use handles::keep_from_programs as keep_handles_from_programs;
pub use limits::Limits;

use crate::commands::{Confinement, Program, RunDirectory};
use crate::{Error, Result, Root};
use rustix::fd::AsRawFd;
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CONFINED: &str = "confined";

/// What the helper is to do. It comes from the daemon through standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    daemon: i32,
    root: RootHandle,
    home: PathBuf,
    report: PathBuf,
    program: PathBuf,
    name: String,
    args: Vec<String>,
    network: bool,
    limits: Limits,
}

/// The root as the daemon holds it: found through its handle, and known again by its numbers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootHandle {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Order {
    pub(crate) fn new(
        root: &Root,
        run: &RunDirectory,
        program: Program,
        args: Vec<String>,
        network: bool,
        limits: Limits,
    ) -> Result<Self> {
        let stat = rustix::fs::fstat(root.handle()).map_err(Error::io("looking at the root"))?;
        let daemon = rustix::process::getpid().as_raw_nonzero().get();
        let path = PathBuf::from(format!("/proc/{daemon}/fd/{}", root.handle().as_raw_fd()));
        let root = RootHandle { path, device: stat.st_dev, inode: stat.st_ino };
        let Program { path: program, name } = program;
        Ok(Self { daemon, root, home: run.home(), report: run.report(), program, name, args, network, limits })
    }

    pub(crate) fn processes(&self) -> u64 {
        self.limits.processes
    }

    /// As a file in memory: there is nobody to wait for while it is written or read.
    pub(crate) fn as_input(&self) -> Result<Stdio> {
        let file = rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC).map_err(Error::io("making an order"))?;
        let mut file = File::from(file);
        let bytes =
            serde_json::to_vec(self).map_err(|_| Error::InvalidArgument("the command cannot be written down"))?;
        file.write_all(&bytes).and_then(|()| file.rewind()).map_err(Error::io("making an order"))?;
        Ok(Stdio::from(file))
    }
}

/// Whether this kernel can confine at all, without confining anybody.
pub(crate) fn check_kernel() -> Result<()> {
    rules::check_kernel()?;
    filters::check_machine()
}

/// What a helper process does instead of everything else. It returns only to say why the program did not start; the caller then
/// ends with a code that is not 0.
pub fn confine_and_exec() -> Result<Infallible> {
    let error = match follow_the_order() {
        Ok(never) => match never {},
        Err(error) => error,
    };
    // Where the report cannot be written, as on a full disk, this is all that is heard.
    let _ = write!(std::io::stderr(), "{error}");
    Err(error)
}

fn follow_the_order() -> Result<Infallible> {
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).map_err(Error::io("reading the order"))?;
    let order: Order = serde_json::from_slice(&text).map_err(|_| Error::InvalidArgument("the order is not one"))?;
    let report = File::options().append(true).open(&order.report).map_err(Error::io("opening the report"))?;
    let error = match become_program(&order, &report) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    // The exit code says that it failed; the report would only have said why.
    let _ = (&report).write_all(error.to_string().as_bytes());
    Err(error)
}

fn become_program(order: &Order, mut report: &File) -> Result<Infallible> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // While it can be looked at: what is opened from here on is our own, and not passed on.
    handles::keep_from_programs()?;
    rustix::thread::set_no_new_privs(true).map_err(Error::io("giving up new privileges"))?;
    limits::set(&order.limits)?;
    let root = order.root.open()?;
    limits::drop_capabilities()?;
    end_with(order.daemon)?;
    let landlock = rules::restrict_files(&root, &order.home)?;
    let (tcp_rules, scopes) = rules::restrict_the_rest(order.network)?;
    drop(root);
    filters::apply(order.network, scopes)?;
    let confinement = Confinement { landlock, tcp_rules, scopes, counts_processes: limits::counts_processes() };
    writeln!(report, "{CONFINED} {landlock} {tcp_rules} {scopes} {}", confinement.counts_processes)
        .map_err(Error::io("reporting"))?;
    let mut command = Command::new(&order.program);
    let error = command.arg0(&order.name).args(&order.args).stdin(Stdio::null()).exec();
    Err(Error::io("starting the program")(error))
}

/// The program ends when the daemon's thread that watches it does, also if nobody can kill it any more.
fn end_with(daemon: i32) -> Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(Error::io("tying to the daemon"))?;
    if rustix::process::getppid().map(Pid::as_raw_nonzero).map(std::num::NonZero::get) == Some(daemon) {
        return Ok(());
    }
    Err(Error::CommandsOff("the daemon is gone".to_owned()))
}

impl RootHandle {
    fn open(&self) -> Result<rustix::fd::OwnedFd> {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
        let root =
            rustix::fs::open(&self.path, flags, rustix::fs::Mode::empty()).map_err(Error::io("opening the root"))?;
        let stat = rustix::fs::fstat(&root).map_err(Error::io("looking at the root"))?;
        if (stat.st_dev, stat.st_ino) == (self.device, self.inode) {
            return Ok(root);
        }
        Err(Error::OutsideRoot)
    }
}

/// What a helper left word of.
pub(crate) enum Report {
    Confined(Confinement),
    NotConfined(String),
    NotStarted(String),
}

impl Report {
    /// `said`: on its standard error, which is the helper's own until it has reported.
    pub(crate) fn read(path: &Path, said: &str) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("reading the report"))?;
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let words: Vec<&str> = first.split(' ').collect();
        let [CONFINED, landlock, tcp_rules, scopes, counts_processes] = words[..] else {
            let why = [text.trim(), said.trim(), "the helper said nothing"].into_iter().find(|why| !why.is_empty());
            return Ok(Self::NotConfined(why.unwrap_or_default().to_owned()));
        };
        if !rest.is_empty() {
            return Ok(Self::NotStarted(rest.to_owned()));
        }
        let is = |word: &str| word == "true";
        Ok(Self::Confined(Confinement {
            landlock: landlock.parse().unwrap_or_default(),
            tcp_rules: is(tcp_rules),
            scopes: is(scopes),
            counts_processes: is(counts_processes),
        }))
    }
}
