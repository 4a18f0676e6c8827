//! What every figure needs: the binary under test, folders on one disk, and a running product with sessions to write to.

use super::http::{Connection, Request, STAMP, Target};
use super::load::{self, Lane, Outcome, Until};
use crate::processes::{self, Server};
use crate::stories;
use crate::workspace;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const CLIENTS: usize = 64;
/// Few enough keys that a session stays far below its 10 000 tokens.
pub(crate) const KEYS: usize = 10;
const VALUE_CHARACTERS: usize = 200;
const FILLING_AT_ONCE: usize = 64;

pub(crate) struct Scene {
    pub(crate) binary: PathBuf,
    pub(crate) round: Duration,
    /// Beside the build's output and not in `/tmp`, which may be memory where a sync costs nothing.
    scratch: TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    pub(crate) fn new(binary: &Path, round: Duration) -> Result<Self> {
        let parent = workspace::target_dir()?;
        let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(parent)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { binary: binary.to_path_buf(), round, scratch, runtime })
    }

    /// A new empty folder on the disk that everything here is measured on.
    pub(crate) fn folder(&self) -> Result<TempDir> {
        Ok(tempfile::tempdir_in(self.scratch.path())?)
    }

    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    pub(crate) fn drive(&self, target: &Target, lanes: &mut Vec<Lane>, until: Until) -> Result<Outcome> {
        self.block_on(load::drive(target.address, lanes, until))
    }

    /// Starts the product on a data directory; rate limits off, as a benchmark is no guest.
    pub(crate) fn serve(&self, data_dir: &Path) -> Result<Server> {
        self.serve_on(data_dir, None, &[])
    }

    fn serve_on(&self, data_dir: &Path, storage_url: Option<&str>, environment: &[(&str, &str)]) -> Result<Server> {
        let address = processes::free_address()?;
        let mut command = Command::new(&self.binary);
        command.arg("serve").arg("--data-dir").arg(data_dir).arg("--listen").arg(address.to_string());
        command.env("LONGHOUSE_RATE_LIMIT", "off").env("LONGHOUSE_STORAGE_URL", storage_url.unwrap_or("sqlite"));
        command.envs(environment.iter().copied());
        Server::start(&mut command, address, &data_dir.with_extension("log"))
    }

    /// The product on an empty data directory, with a token of its owner.
    pub(crate) fn product(&self) -> Result<Product> {
        self.product_on(None)
    }

    /// The same with its rows in an empty database elsewhere.
    pub(crate) fn product_on(&self, storage_url: Option<&str>) -> Result<Product> {
        self.product_in(storage_url, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn product_in(&self, storage_url: Option<&str>, environment: &[(&str, &str)]) -> Result<Product> {
        let folder = self.folder()?;
        let data_dir = folder.path().join("data");
        let server = self.serve_on(&data_dir, storage_url, environment)?;
        let token = stories::owner_token(&self.binary, &data_dir)?;
        let target = Target { address: server.address, token };
        Ok(Product { server, target, data_dir, _folder: folder })
    }

    /// Makes the sessions `bench-<from>` up to `bench-<to - 1>`.
    pub(crate) fn create_sessions(&self, target: &Target, from: usize, to: usize) -> Result<()> {
        let create = |number: usize| {
            let body = format!("{{\"id\":\"{}\"}}", session(number));
            Request::post(target, "/sessions", &body, 201)
        };
        self.each_once(target, (from..to).map(create))
    }

    /// Sends every request once, over several connections.
    pub(crate) fn each_once(&self, target: &Target, requests: impl Iterator<Item = Request>) -> Result<()> {
        self.drive(target, &mut dealt(requests, FILLING_AT_ONCE), Until::EachOnce)?;
        Ok(())
    }

    /// One request for the sake of its answer.
    pub(crate) fn ask(&self, target: &Target, request: &Request) -> Result<Vec<u8>> {
        self.block_on(async {
            let mut connection = Connection::open(target.address).await?;
            Ok(connection.exchange(request).await?.to_vec())
        })
    }
}

pub(crate) struct Product {
    pub(crate) server: Server,
    pub(crate) target: Target,
    pub(crate) data_dir: PathBuf,
    _folder: TempDir,
}

pub(crate) fn session(number: usize) -> String {
    format!("bench-{number}")
}

pub(crate) fn write_request(target: &Target, session_number: usize, key_number: usize) -> Request {
    let filling = "x".repeat(VALUE_CHARACTERS - STAMP.len());
    let body = format!("{{\"action\":\"write\",\"key\":\"k{key_number}\",\"value\":\"{STAMP}{filling}\"}}");
    context_request(target, session_number, &body)
}

pub(crate) fn read_request(target: &Target, session_number: usize, key_number: usize) -> Request {
    context_request(target, session_number, &format!("{{\"action\":\"read\",\"key\":\"k{key_number}\"}}"))
}

fn context_request(target: &Target, session_number: usize, body: &str) -> Request {
    Request::post(target, &format!("/sessions/{}/shared_context", session(session_number)), body, 200)
}

/// Each connection in a session of its own, going round its keys.
pub(crate) fn lanes_of(clients: usize, request: impl Fn(usize, usize) -> Request) -> Vec<Lane> {
    (0..clients).map(|client| Lane::new((0..KEYS).map(|key| request(client, key)).collect())).collect()
}

/// Requests dealt out to connections like cards.
pub(crate) fn dealt(requests: impl Iterator<Item = Request>, hands: usize) -> Vec<Lane> {
    let mut dealt: Vec<Vec<Request>> = Vec::new();
    dealt.resize_with(hands, Vec::new);
    for (index, request) in requests.enumerate() {
        dealt[index % hands].push(request);
    }
    dealt.into_iter().map(Lane::new).collect()
}
