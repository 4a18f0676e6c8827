//! Programs that are plugins: started with nothing of the house but what they need, in a process group of their own, and ended
//! with everything that they started in it.

use crate::closings::Closing;
use crate::options::Options;
use domain::plugins::is_passed;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long what a program said before its end may take to be read, where something else keeps its output open.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// A program that was started, its streams apart.
pub(crate) struct Started {
    pub(crate) streams: (ChildStdout, ChildStdin),
    pub(crate) stderr: ChildStderr,
    pub(crate) process: Process,
}

/// The group of a program and what descends from it. Whoever lets go of it without more ends it at once.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It may be gone already, which is what is wanted.
            kill_process_group(group, signal).ok();
        }
    }

    fn end(&mut self) {
        self.signal(Signal::KILL);
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts a program. Errors are sentences without a word of its arguments or environment.
pub(crate) fn start(
    command: &[String],
    named: &[String],
    options: &Options,
    closing: &Closing,
) -> Result<Started, String> {
    let (program, arguments) = command.split_first().ok_or("no program is given")?;
    let passed =
        options.environment.iter().filter(|(name, _)| name.to_str().is_some_and(|name| is_passed(name, named)));
    let mut child = Command::new(located(program, &options.directory))
        .args(arguments)
        .env_clear()
        .envs(passed.map(|(name, value)| (name, value)))
        .current_dir(&options.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("its program cannot be started ({})", error.kind()))?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("its program has no input or output".to_owned());
    };
    let (stop, stopped) = oneshot::channel();
    let watch = tokio::spawn(watch(child, group, stopped, options.rhythm.grace, closing.clone()));
    Ok(Started { streams: (stdout, stdin), stderr, process: Process { stop: Some(stop), watch } })
}

/// A path counts from where the program is started; a bare name is looked for in `PATH`.
fn located(program: &str, directory: &Path) -> PathBuf {
    if program.contains('/') { directory.join(program) } else { PathBuf::from(program) }
}

/// A running program. Dropped, it ends at once, and all of its group.
#[derive(Debug)]
pub(crate) struct Process {
    stop: Option<oneshot::Sender<()>>,
    watch: JoinHandle<Option<ExitStatus>>,
}

impl Process {
    /// Ends it, in kindness as far as it lets: its input was closed before. How it ended, if nobody had to signal it.
    pub(crate) async fn stop(mut self) -> Option<String> {
        drop(self.stop.take());
        let status = (&mut self.watch).await.ok().flatten()?;
        Some(format!("it ended: {status}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn watch(
    mut child: Child,
    mut group: Group,
    stopped: oneshot::Receiver<()>,
    grace: Duration,
    closing: Closing,
) -> Option<ExitStatus> {
    let ended = tokio::select! {
        biased;
        status = child.wait() => status.ok(),
        _ = stopped => end(&mut child, &group, grace).await,
    };
    // Right after it was waited for: the number of a group stays taken while anything of it lives, and no other process gets
    // it in between. What it left behind goes with it, and so its pipes close.
    group.end();
    if tokio::time::timeout(LAST_WORDS_WITHIN, closing.closed()).await.is_err() {
        // Something that left the group still holds them.
        closing.close("its program ended");
    }
    ended
}

/// The protocol's way: its input is closed, then it is asked to end, then it is ended.
async fn end(child: &mut Child, group: &Group, grace: Duration) -> Option<ExitStatus> {
    if let Ok(status) = tokio::time::timeout(grace, child.wait()).await {
        return status.ok();
    }
    group.signal(Signal::TERM);
    if tokio::time::timeout(grace, child.wait()).await.is_err() {
        group.signal(Signal::KILL);
        child.wait().await.ok();
    }
    None
}
