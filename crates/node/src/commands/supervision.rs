//! Watching over one command, from a thread of its own: the helper asks the kernel to end the command with the thread that started it.

use super::environments::environment;
use super::outputs::Output;
use super::{Confinement, Executed, Launcher, RunDirectory, groups};
use crate::confinement::{Order, Report};
use crate::{Error, Fault, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it is looked whether to stop and how many processes there are. The end itself is noticed at once.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

type Outcome = Result<(Executed, Option<Confinement>)>;

/// A command under way. Dropped, it ends.
pub struct Running {
    watcher: Option<JoinHandle<Outcome>>,
    stopped: Arc<AtomicBool>,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Itself,
    Stopped,
    TimedOut,
    TooManyProcesses,
}

impl Running {
    pub(super) fn start(
        launcher: Launcher,
        order: Order,
        directory: OwnedFd,
        run: RunDirectory,
        timeout: Duration,
    ) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopped);
        let watcher = thread::spawn(move || watch(&launcher, &order, &directory, &run, timeout, &seen));
        Self { watcher: Some(watcher), stopped }
    }

    /// Ends the command; `wait` then says how far it came.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn wait(self) -> Result<Executed> {
        self.wait_and_tell().map(|(executed, _)| executed)
    }

    pub(super) fn wait_and_tell(mut self) -> Outcome {
        let outcome = self.watcher.take().map(JoinHandle::join);
        let broken =
            || Error::Io { doing: "running the command", source: std::io::Error::other("the watcher broke off") };
        outcome.and_then(Result::ok).unwrap_or_else(|| Err(broken()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(watcher) = self.watcher.take() {
            // Nobody asks what became of it.
            let _ = watcher.join();
        }
    }
}

fn watch(
    launcher: &Launcher,
    order: &Order,
    directory: &OwnedFd,
    run: &RunDirectory,
    timeout: Duration,
    stopped: &AtomicBool,
) -> Outcome {
    let begun = Instant::now();
    let mut child = Group(spawn(launcher, order, directory, run)?);
    let outputs = (child.0.stdout.take().map(Output::follow), child.0.stderr.take().map(Output::follow));
    let end = wait(&child, begun + timeout, stopped, order.processes())?;
    let status = child.finish()?;
    let execution_time = begun.elapsed().as_secs_f64();
    let ended = |output: Option<Output>| output.map(|output| output.end()).unwrap_or_default();
    let ((stdout, out_cut), (stderr, err_cut)) = (ended(outputs.0), ended(outputs.1));
    let confinement = match Report::read(&run.report(), &stderr)? {
        Report::Confined(confinement) => Some(confinement),
        Report::NotStarted(why) => {
            return Err(Error::Io { doing: "starting the program", source: std::io::Error::other(why) });
        }
        Report::NotConfined(_) if end != End::Itself => None,
        Report::NotConfined(why) => return Err(Error::CommandsOff(why)),
    };
    let executed = Executed {
        success: end == End::Itself && status.success(),
        stdout,
        stderr,
        exit_code: status.code(),
        signal: status.signal(),
        execution_time,
        truncated: out_cut || err_cut,
        error: end.fault(),
    };
    Ok((executed, confinement))
}

fn spawn(launcher: &Launcher, order: &Order, directory: &OwnedFd, run: &RunDirectory) -> Result<Child> {
    let mut command = Command::new(&launcher.program);
    command.args(&launcher.arguments).env_clear().envs(environment(&run.home()));
    command.stdin(order.as_input()?).stdout(Stdio::piped()).stderr(Stdio::piped());
    // By the handle: the directory's name may mean another one by now.
    command.current_dir(format!("/proc/self/fd/{}", directory.as_raw_fd())).process_group(0);
    command.spawn().map_err(Error::io("starting the helper"))
}

/// A child that leads its group. Until it is waited for, nobody else can have its number.
struct Group(Child);

impl Group {
    fn id(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }

    fn kill(&self) {
        if let Some(group) = self.id() {
            groups::kill(group);
        }
    }

    /// First the group, then its leader: what it left running ends with it.
    fn finish(&mut self) -> Result<ExitStatus> {
        self.kill();
        self.0.wait().map_err(Error::io("waiting for the command"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // Only on the way of an error: otherwise it is finished.
            let _ = self.finish();
        }
    }
}

fn wait(child: &Group, deadline: Instant, stopped: &AtomicBool, processes: u64) -> Result<End> {
    let Some(group) = child.id() else { return Ok(End::Itself) };
    let handle = pidfd_open(group, PidfdFlags::empty()).map_err(Error::io("watching the command"))?;
    let mut census = groups::Census::new(group, processes);
    loop {
        let mut events = [PollFd::new(&handle, PollFlags::IN)];
        match poll(&mut events, Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(End::Itself),
            Err(errno) => return Err(Error::io("watching the command")(errno)),
        }
        if stopped.load(Ordering::Relaxed) {
            return Ok(End::Stopped);
        }
        if Instant::now() >= deadline {
            return Ok(End::TimedOut);
        }
        if census.is_over() {
            return Ok(End::TooManyProcesses);
        }
    }
}

impl End {
    fn fault(self) -> Option<Fault> {
        let (code, message) = match self {
            Self::Itself => return None,
            Self::Stopped => ("STOPPED", "the command was stopped"),
            Self::TimedOut => ("TIMEOUT", "the command was ended at its deadline"),
            Self::TooManyProcesses => ("TOO_MANY_PROCESSES", "the command was ended because it had too many processes"),
        };
        Some(Fault { code, message: message.to_owned() })
    }
}
