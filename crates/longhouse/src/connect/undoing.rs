//! `longhouse undo`: asked of the node that runs here, through a socket in its state directory that only its owner can open; if none
//! runs, done by the command itself.

use super::identities::Identity;
use super::states::states;
use super::{Hands, now};
use crate::cli::{Place, UndoCall};
use crate::output::print;
use anyhow::{Context, Result, bail};
use node::{Daemon, House, Setup, StateDirectory, Undone, Vetoes};
use serde_json::{Value, json};
use service::data_dir::SocketPath;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

const LINE_LONGEST: u64 = 256;
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets `longhouse undo` in while the node runs. Never ends.
pub(super) async fn answer<H: House>(state: &StateDirectory, daemon: Arc<Daemon<H>>) -> Result<()> {
    let socket = SocketPath::of(state.path())?;
    // Of a node that was killed; the lock says that there is no other.
    let _ = std::fs::remove_file(socket.as_path());
    let listener = UnixListener::bind(socket.as_path()).context("cannot open the socket in the state directory")?;
    loop {
        let (stream, _) = listener.accept().await.context("the socket in the state directory is gone")?;
        let daemon = daemon.clone();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(PATIENCE, answer_one(stream, &daemon)).await;
        });
    }
}

async fn answer_one<H: House>(stream: UnixStream, daemon: &Arc<Daemon<H>>) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    BufReader::new(reader.take(LINE_LONGEST)).read_line(&mut line).await?;
    let told = match daemon.undo(line.trim()).await {
        Ok(undone) => json!(undone),
        Err(error) => json!({"error": error.to_string()}),
    };
    writer.write_all(format!("{told}\n").as_bytes()).await
}

pub(crate) async fn run(place: &Place, options: &UndoCall) -> Result<ExitCode> {
    let folder = find(options)?;
    let told = match ask(&folder, &options.call).await? {
        Some(told) => told,
        None => json!(undo_here(&folder, &options.call)?),
    };
    if let Some(error) = told["error"].as_str() {
        bail!("{error}");
    }
    print(place.json, &told, |undone| {
        let path = undone["path"].as_str().unwrap_or_default();
        if undone["sha256"].is_null() { format!("{path} is gone again") } else { format!("{path} is as it was") }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The state directory of the node that made the call.
fn find(options: &UndoCall) -> Result<PathBuf> {
    let keeps = |folder: &Path| folder.join("undo").join(format!("{}.json", options.call)).exists();
    let folders = match &options.state_dir {
        Some(given) => vec![given.clone()],
        None => {
            let nodes = states()?;
            let entries = std::fs::read_dir(&nodes).into_iter().flatten();
            entries.flatten().map(|entry| entry.path()).collect()
        }
    };
    let is_plain = options.call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let found = folders.into_iter().find(|folder| is_plain && keeps(folder));
    found.context("no node of this machine keeps anything for that call: it changed nothing, or too long ago")
}

/// What the node that runs says; none if none does.
async fn ask(folder: &Path, call: &str) -> Result<Option<Value>> {
    let socket = SocketPath::of(folder)?;
    let Ok(mut stream) = UnixStream::connect(socket.as_path()).await else { return Ok(None) };
    stream.write_all(format!("{call}\n").as_bytes()).await.context("the node has gone")?;
    let mut line = String::new();
    let mut reader = BufReader::new(stream);
    let read = tokio::time::timeout(PATIENCE, reader.read_line(&mut line)).await;
    read.context("the node did not answer in time")?.context("the node has gone")?;
    Ok(Some(serde_json::from_str(&line).context("the node answered something else")?))
}

fn undo_here(folder: &Path, call: &str) -> Result<Undone> {
    let state = StateDirectory::open(folder)?;
    let identity = Identity::read(&state)?.context("that state directory belongs to no node")?;
    let (root, of_node) = (identity.root.clone(), identity.of_node());
    let setup =
        Setup { root: &root, state: &state, launcher: None, identity: of_node, vetoes: Vetoes::default(), now: now() };
    Ok(Hands::open(setup)?.undo(call, now())?)
}
