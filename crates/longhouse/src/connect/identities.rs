//! Who a node is: its key, and for whom it works. Made once, kept in its state directory.

use super::lines;
use crate::cli::{Connect, Place};
use crate::client::refusal;
use crate::client::wire::{Address, given_token};
use anyhow::{Context, Result, bail};
use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode, header};
use data_encoding::HEXLOWER;
use http_body_util::BodyExt;
use node::StateDirectory;
use protocol::nodes::{PairNode, Pairing};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "identity.json";
const ASKED_EVERY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) node: String,
    pub(super) name: String,
    pub(super) key: String,
    /// The one project that it serves; none if it serves the members of a workspace.
    pub(super) project: Option<String>,
    pub(super) user: String,
    /// The folder that it works in.
    pub(super) root: PathBuf,
}

impl Identity {
    pub(super) fn read(state: &StateDirectory) -> Result<Option<Self>> {
        let Some(bytes) = state.read(FILE)? else { return Ok(None) };
        let identity = serde_json::from_slice(&bytes);
        identity.map(Some).context("identity.json in the state directory cannot be read: move it away to pair anew")
    }

    /// Whether somebody has paired with this state directory.
    pub(super) fn is_in(state: &Path) -> bool {
        state.join(FILE).exists()
    }

    pub(super) fn of_node(&self) -> node::Identity {
        let user = self.project.as_ref().map(|_| self.user.clone());
        node::Identity { node: self.node.clone(), user, project: self.project.clone() }
    }
}

/// Comes into the house: with a person's token at once, else by a code that a person confirms.
pub(super) async fn pair(
    address: &Address,
    place: &Place,
    options: &Connect,
    root: &Path,
    state: &StateDirectory,
) -> Result<Identity> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).context("there is no randomness")?;
    let key = HEXLOWER.encode(&random);
    let asked = PairNode {
        name: Some(options.name.clone().unwrap_or_else(machine_name)),
        project: options.project.clone(),
        workspace: options.workspace.clone(),
        root_label: Some(root.file_name().map_or("/".into(), |name| name.to_string_lossy()).into_owned()),
        platform: Some(std::env::consts::OS.to_owned()),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        key_hash: Some(HEXLOWER.encode(&Sha256::digest(key.as_bytes()))),
        ..PairNode::default()
    };
    let (_, mut pairing) = ask(address, &asked, given_token(place)?).await?;
    if let Some(code) = pairing.code.clone() {
        lines::show_code(&code);
        let poll = PairNode { code: Some(code), key: Some(key.clone()), ..PairNode::default() };
        loop {
            tokio::time::sleep(ASKED_EVERY).await;
            let (status, answer) = ask(address, &poll, None).await?;
            if status == StatusCode::OK {
                pairing = answer;
                break;
            }
        }
    }
    let Some(node) = pairing.node else { bail!("the house let it in and did not say as what") };
    let (project, user, root) = (node.project, node.user, root.to_owned());
    let identity = Identity { node: node.id, name: node.name, key, project, user, root };
    state.replace(FILE, &serde_json::to_vec_pretty(&identity)?)?;
    Ok(identity)
}

fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.trim().chars().filter(plain).take(64).collect();
    if name.is_empty() { "machine".to_owned() } else { name }
}

/// Says something to the one door that is open to nodes that nobody knows.
pub(super) async fn ask(
    address: &Address,
    body: &PairNode,
    token: Option<HeaderValue>,
) -> Result<(StatusCode, Pairing)> {
    let mut request = Request::post("/nodes/pair").header(header::CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, token);
    }
    let response = address.send(request.body(Body::from(serde_json::to_vec(body)?))?).await?;
    let status = response.status();
    let bytes = response.into_body().collect().await.context("the answer was cut off")?.to_bytes();
    if status.is_success() {
        return Ok((status, serde_json::from_slice(&bytes).context("the house answered something else")?));
    }
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    Err(refusal(status, &answer))
}
