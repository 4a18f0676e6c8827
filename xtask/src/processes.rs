//! Children of xtask: run to the end, run with their words repeated and kept, or kept running as a server.
//! A server that is dropped is killed: nothing that is started here outlives us.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const READY_WITHIN: Duration = Duration::from_secs(60);
const STOPPED_WITHIN: Duration = Duration::from_secs(10);
const PROBE_EVERY: Duration = Duration::from_micros(200);

/// Runs a command that speaks for itself.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Runs a command for its standard output.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::piped()).output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Runs a command, repeats every line it writes, and gives all of them back with its status.
pub(crate) fn run_and_listen(command: &mut Command) -> Result<(ExitStatus, String)> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let errors = child.stderr.take().map(|stream| std::thread::spawn(move || repeat(stream)));
    let mut heard = child.stdout.take().map(repeat).unwrap_or_default();
    if let Some(errors) = errors {
        heard.push_str(&errors.join().unwrap_or_default());
    }
    Ok((child.wait()?, heard))
}

fn repeat(stream: impl Read) -> String {
    let mut heard = String::new();
    for line in BufReader::new(stream).split(b'\n').map_while(std::result::Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        heard.push_str(&line);
        heard.push('\n');
    }
    heard
}

/// A loopback address that was free a moment ago.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// A child that listens on an address.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// From the start of the process to the first sign of readiness.
    pub(crate) ready_after: Duration,
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a server and waits until `GET /health` answers 200. Its words go to `log`.
    pub(crate) fn start(command: &mut Command, address: SocketAddr, log: &Path) -> Result<Self> {
        Self::start_until(command, address, log, is_healthy)
    }

    pub(crate) fn start_until(
        command: &mut Command,
        address: SocketAddr,
        log: &Path,
        is_ready: impl Fn(SocketAddr) -> bool,
    ) -> Result<Self> {
        let words = File::create(log)?;
        command.stdin(Stdio::null()).stdout(words.try_clone()?).stderr(words);
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let mut server = Self { address, ready_after: Duration::ZERO, child, log: log.to_path_buf() };
        while !is_ready(address) {
            if let Some(status) = server.child.try_wait()? {
                bail!("{command:?} ended with {status} before it was ready:\n{}", server.last_words());
            }
            if started.elapsed() > READY_WITHIN {
                bail!("{command:?} was not ready after {READY_WITHIN:?}:\n{}", server.last_words());
            }
            std::thread::sleep(PROBE_EVERY);
        }
        server.ready_after = started.elapsed();
        Ok(server)
    }

    /// Resident memory in bytes, as the kernel counts it.
    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
        let kibibytes: u64 = kibibytes.context("no VmRSS in /proc")?.trim().parse()?;
        Ok(kibibytes * 1024)
    }

    /// Time on a processor since it started, its own and the kernel's for it.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        let line = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name in brackets may hold anything; after it, user and system time are the 12th and 13th field.
        let fields = line.rsplit_once(')').context("no name in /proc")?.1;
        let ticks: Vec<u64> = fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
        const TICKS_PER_SECOND: u64 = 100;
        Ok(Duration::from_millis(ticks.iter().sum::<u64>() * 1000 / TICKS_PER_SECOND))
    }

    /// Asks for an orderly end (SIGTERM) and insists on exit code 0 in time.
    pub(crate) fn stop(self) -> Result<()> {
        self.stop_with("TERM")
    }

    pub(crate) fn stop_with(mut self, signal: &str) -> Result<()> {
        run(Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", self.child.id())))?;
        let asked = Instant::now();
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("the server ended with {status} after SIG{signal}:\n{}", self.last_words()),
                None if asked.elapsed() > STOPPED_WITHIN => {
                    bail!("the server still ran {STOPPED_WITHIN:?} after SIG{signal}:\n{}", self.last_words());
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    pub(crate) fn last_words(&self) -> String {
        let words = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = words.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone after `stop`; then both calls fail and nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_healthy(address: SocketAddr) -> bool {
    health_status(address).is_ok_and(|status| status == 200)
}

fn health_status(address: SocketAddr) -> Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    write!(stream, "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let status = line.split(' ').nth(1).context("not an HTTP answer")?;
    Ok(status.parse()?)
}
