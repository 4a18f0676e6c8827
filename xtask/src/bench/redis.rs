//! Redis as a peer: our own server on a free port, every write synced, measured with its own C client.

use super::scene::{CLIENTS, Scene};
use crate::packages;
use crate::processes::{self, Server};
use anyhow::{Context, Result};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Enough requests for a first guess at the rate.
const TRIAL: u64 = 20_000;

pub(crate) struct Redis {
    server: Server,
    _folder: TempDir,
}

impl Redis {
    pub(crate) fn start(scene: &Scene) -> Result<Self> {
        packages::ensure("redis-server", "redis-server")?;
        packages::ensure("redis-benchmark", "redis-tools")?;
        let folder = scene.folder()?;
        let address = processes::free_address()?;
        let mut command = Command::new("redis-server");
        command.args(["--port", &address.port().to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]).arg(folder.path());
        let log = folder.path().join("redis.log");
        let is_listening = |address: SocketAddr| TcpStream::connect(address).is_ok();
        let server = Server::start_until(&mut command, address, &log, is_listening)?;
        Ok(Self { server, _folder: folder })
    }

    /// Durable SETs per second of 200 bytes each, from as many clients as the product has.
    pub(crate) fn sets_per_second(&self, round: Duration) -> Result<f64> {
        let guess = self.sets(TRIAL)?;
        self.sets(((guess * round.as_secs_f64()) as u64).max(TRIAL))
    }

    fn sets(&self, requests: u64) -> Result<f64> {
        let mut command = Command::new("redis-benchmark");
        command.args(["-t", "set", "-d", "200", "-r", "640", "-q", "-c", &CLIENTS.to_string()]);
        command.args(["-p", &self.server.address.port().to_string(), "-n", &requests.to_string()]);
        per_second(&processes::output_of(&mut command)?)
    }
}

/// `SET: 64800.10 requests per second, p50=0.599 msec`, after progress that is overwritten with carriage returns.
fn per_second(output: &str) -> Result<f64> {
    let last = output.split(['\r', '\n']).rev().find(|line| line.contains("requests per second"));
    let number = last.and_then(|line| line.trim().strip_prefix("SET: ")?.split(' ').next());
    Ok(number.with_context(|| format!("redis-benchmark said: {output}"))?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::per_second;

    #[test]
    fn the_rate_is_read_past_the_progress() {
        let output = "SET: rps=0.0 (overall: nan) avg_msec=nan\rSET: rps=9 (overall: 9)\r\
                      SET: 64800.10 requests per second, p50=0.599 msec\n\n";
        assert!((per_second(output).unwrap() - 64_800.1).abs() < 0.01);
        assert!(per_second("Could not connect to Redis").is_err());
    }
}
