//! A Longhouse process in a temporary folder, and short words for talking to it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub(super) const LONGHOUSE: &str = env!("CARGO_BIN_EXE_longhouse");

pub(super) struct Server {
    child: Child,
    pub(super) url: String,
    /// What it printed before it was ready.
    pub(super) greeting: String,
    /// From its start until it was ready.
    pub(super) ready: Duration,
    data_dir: PathBuf,
}

/// It ended before it was ready.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
}

/// Houses whose rows are in a database elsewhere.
static STORAGE: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// From now on every command for this data directory is told that its rows are there.
pub(super) fn keep_rows_elsewhere(data_dir: &Path, url: &str) {
    STORAGE.lock().unwrap().insert(data_dir.to_owned(), url.to_owned());
}

pub(super) fn command(data_dir: &Path) -> Command {
    let mut command = Command::new(LONGHOUSE);
    command.arg("--data-dir").arg(data_dir).env_remove("LONGHOUSE_TOKEN").env_remove("LONGHOUSE_SERVER");
    // Whatever the machine has, no test asks a real model.
    command.env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY").env_remove("LONGHOUSE_OPENAI_BASE_URL");
    if let Some(url) = STORAGE.lock().unwrap().get(data_dir) {
        command.env("LONGHOUSE_STORAGE_URL", url);
    }
    command
}

/// Runs a command to its end.
pub(super) fn run(data_dir: &Path, args: &[&str]) -> Output {
    command(data_dir).args(args).stdin(Stdio::null()).output().expect("the binary runs")
}

/// Runs a command that must succeed; gives its standard output.
pub(super) fn ok(data_dir: &Path, args: &[&str]) -> String {
    let output = run(data_dir, args);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{args:?}\n{out}\n{err}");
    out.trim_end().to_owned()
}

/// A command that must be refused, with this exit code and this word.
#[track_caller]
pub(super) fn refused_with(output: &Output, code: i32, word: &str) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        out.is_empty() && output.status.code() == Some(code) && err.contains(word),
        "{}\n{out}\n{err}",
        output.status
    );
}

/// Runs a command with something on its standard input.
pub(super) fn fed(data_dir: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut command = command(data_dir);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    // It may stop reading before the end.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("waited")
}

impl Server {
    /// Starts on a free port and waits until it is ready.
    pub(super) fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    pub(super) fn start_with(data_dir: &Path, args: &[&str]) -> Self {
        Self::launch(command(data_dir), data_dir, args)
    }

    /// Starts with these variables in its environment.
    pub(super) fn start_in(data_dir: &Path, environment: &[(&str, &str)]) -> Self {
        let mut command = command(data_dir);
        command.envs(environment.iter().copied());
        Self::launch(command, data_dir, &[])
    }

    /// Starts at an address of its own, which it has again after a restart.
    pub(super) fn start_at(data_dir: &Path, address: &str, environment: &[(&str, &str)]) -> Self {
        let mut command = command(data_dir);
        command.envs(environment.iter().copied());
        Self::launch(command, data_dir, &["--listen", address])
    }

    /// Starts where no file may grow beyond `blocks` of 512 bytes.
    pub(super) fn start_limited(data_dir: &Path, blocks: u32) -> Self {
        let mut limited = Command::new("sh");
        let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        limited.args(["-c", &script, LONGHOUSE, "--data-dir"]).arg(data_dir);
        Self::launch(limited, data_dir, &[])
    }

    /// Starts with a configuration file; what it logs goes to another file.
    pub(super) fn start_configured(data_dir: &Path, config: &Path, log: &Path) -> Result<Self, Ended> {
        Self::start_configured_in(data_dir, (config, log), &[], &[])
    }

    /// The same with these variables in its environment.
    pub(super) fn start_configured_in(
        data_dir: &Path,
        (config, log): (&Path, &Path),
        environment: &[(&str, &str)],
        args: &[&str],
    ) -> Result<Self, Ended> {
        let mut logged = Command::new("sh");
        logged.args(["-c", "exec \"$0\" \"$@\" 2>>\"$LOG\"", LONGHOUSE, "--data-dir"]).arg(data_dir);
        logged.arg("--config").arg(config).env("LOG", log).envs(environment.iter().copied());
        Self::try_launch(logged, data_dir, args)
    }

    /// Starts with these variables in its environment; what it logs goes to a file.
    pub(super) fn start_told(data_dir: &Path, environment: &[(&str, &str)], log: &Path) -> Self {
        let mut logged = Command::new("sh");
        logged.args(["-c", "exec \"$0\" \"$@\" 2>>\"$LOG\"", LONGHOUSE, "--data-dir"]).arg(data_dir).env("LOG", log);
        logged.envs(environment.iter().copied());
        Self::launch(logged, data_dir, &[])
    }

    /// Starts under `strace` with the given options. The process is our child all the same, not strace's.
    pub(super) fn start_traced(data_dir: &Path, options: &[String]) -> Result<Self, Ended> {
        let mut traced = Command::new("strace");
        traced.args(["-D", "-f", "-qq"]).args(options);
        traced.arg(LONGHOUSE).arg("--data-dir").arg(data_dir);
        Self::try_launch(traced, data_dir, &[])
    }

    fn launch(command: Command, data_dir: &Path, args: &[&str]) -> Self {
        Self::try_launch(command, data_dir, args).unwrap_or_else(|ended| panic!("it ended with {}", ended.status))
    }

    /// Starts where it may well fail to.
    pub(super) fn try_start(data_dir: &Path) -> Result<Self, Ended> {
        Self::try_launch(command(data_dir), data_dir, &[])
    }

    fn try_launch(command: Command, data_dir: &Path, args: &[&str]) -> Result<Self, Ended> {
        let started = Instant::now();
        let mut server = Self::greeted(command, data_dir, args)?;
        server.wait_until_ready()?;
        server.ready = started.elapsed();
        Ok(server)
    }

    /// Starts on damaged files, where it may fail to or never be well.
    pub(super) fn start_unwell(data_dir: &Path) -> Result<Self, Ended> {
        Self::greeted(command(data_dir), data_dir, &[])
    }

    /// It has said where it is.
    fn greeted(mut command: Command, data_dir: &Path, args: &[&str]) -> Result<Self, Ended> {
        let mut child = command
            .args(["serve", "--rate-limit", "off"])
            .args(if args.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] })
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut greeting = String::new();
        // The last line of the greeting is the one about signing in.
        while !greeting.contains("sign in") {
            let Some(line) = lines.next() else {
                return Err(Ended { status: child.wait().expect("waited") });
            };
            greeting.push_str(&line.expect("text"));
            greeting.push('\n');
        }
        let url =
            greeting.split(" is at ").nth(1).and_then(|rest| rest.lines().next()).expect("its address").to_owned();
        Ok(Self { child, url, greeting, ready: Duration::ZERO, data_dir: data_dir.to_owned() })
    }

    fn wait_until_ready(&mut self) -> Result<(), Ended> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while ureq::get(format!("{}/health", self.url)).call().is_err() {
            if let Some(status) = self.child.try_wait().expect("waited") {
                return Err(Ended { status });
            }
            assert!(Instant::now() < deadline, "not ready within 20 seconds");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// What /health says: healthy, degraded or unhealthy.
    pub(super) fn health(&self) -> Option<String> {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut answer = agent.get(format!("{}/health", self.url)).call().ok()?;
        let health: Value = answer.body_mut().read_json().ok()?;
        health["status"].as_str().map(str::to_owned)
    }

    /// Waits until it ends by itself; `false` if it has not within `patience`.
    pub(super) fn has_ended(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.child.try_wait().expect("waited").is_none() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    pub(super) fn cli(&self, args: &[&str]) -> String {
        ok(&self.data_dir, args)
    }

    pub(super) fn token(&self) -> String {
        self.cli(&["token", "create", "--user", "owner"])
    }

    /// A POST; gives the status and the body.
    pub(super) fn post(&self, token: &str, path: &str, body: &Value) -> Result<(u16, Value), ureq::Error> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(20)))
            .build()
            .into();
        post(&agent, &self.url, token, path, body)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it without warning.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// Asks it to stop; gives its exit code.
    pub(super) fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it has to stop within ten seconds");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn post(
    agent: &ureq::Agent,
    url: &str,
    token: &str,
    path: &str,
    body: &Value,
) -> Result<(u16, Value), ureq::Error> {
    let mut response =
        agent.post(format!("{url}{path}")).header("authorization", format!("Bearer {token}")).send_json(body)?;
    let status = response.status().as_u16();
    Ok((status, response.body_mut().read_json().unwrap_or(Value::Null)))
}
