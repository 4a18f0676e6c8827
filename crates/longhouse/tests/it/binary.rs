//! A Longhouse process in a temporary folder, and short words for talking to it.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(super) const LONGHOUSE: &str = env!("CARGO_BIN_EXE_longhouse");

pub(super) struct Server {
    child: Child,
    pub(super) url: String,
    /// What it printed before it was ready.
    pub(super) greeting: String,
    data_dir: PathBuf,
}

pub(super) fn command(data_dir: &Path) -> Command {
    let mut command = Command::new(LONGHOUSE);
    command.arg("--data-dir").arg(data_dir).env_remove("LONGHOUSE_TOKEN").env_remove("LONGHOUSE_SERVER");
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

impl Server {
    /// Starts on a free port and waits until it is ready.
    pub(super) fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    pub(super) fn start_with(data_dir: &Path, args: &[&str]) -> Self {
        Self::launch(command(data_dir), data_dir, args)
    }

    /// Starts where no file may grow beyond `blocks` of 512 bytes.
    pub(super) fn start_limited(data_dir: &Path, blocks: u32) -> Self {
        let mut limited = Command::new("sh");
        let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        limited.args(["-c", &script, LONGHOUSE, "--data-dir"]).arg(data_dir);
        Self::launch(limited, data_dir, &[])
    }

    fn launch(mut command: Command, data_dir: &Path, args: &[&str]) -> Self {
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
            let line = lines.next().unwrap_or_else(|| panic!("it ended after: {greeting}")).expect("text");
            greeting.push_str(&line);
            greeting.push('\n');
        }
        let url =
            greeting.split(" is at ").nth(1).and_then(|rest| rest.lines().next()).expect("its address").to_owned();
        let server = Self { child, url, greeting, data_dir: data_dir.to_owned() };
        server.wait_until_ready();
        server
    }

    fn wait_until_ready(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while ureq::get(format!("{}/health", self.url)).call().is_err() {
            assert!(Instant::now() < deadline, "not ready within 20 seconds");
            std::thread::sleep(Duration::from_millis(10));
        }
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
