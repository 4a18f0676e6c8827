//! Who a node is: its key, and for whom it works. Made once, kept in its state directory.

use super::lines;
use crate::cli::{Connect, Place};
use crate::client::refusal;
use crate::client::wire::{Address, given_token, given_user};
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
use std::fmt;
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
    /// None if an earlier version paired it.
    #[serde(default)]
    pub(super) asked: Option<Asked>,
}

/// For what a node was to be paired, in the words of whoever started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    project: Option<String>,
    workspace: Option<String>,
}

/// Who a node is to be, as far as it was said.
pub(super) struct Wanted<'a> {
    asked: Asked,
    name: Option<&'a str>,
    user: Option<String>,
    root: &'a Path,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(place: &Place, options: &'a Connect, root: &'a Path) -> Result<Self> {
        Ok(Self { asked: Asked::of(options), name: options.name.as_deref(), user: given_user(place)?, root })
    }
}

impl Asked {
    fn of(options: &Connect) -> Self {
        Self { project: options.project.clone(), workspace: options.workspace.clone() }
    }
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

    /// A node stays who it is: what was said of it now must not be of another one.
    pub(super) fn require(&self, wanted: &Wanted<'_>) -> Result<()> {
        let Wanted { asked, name, user, root } = wanted;
        let other = if self.root != *root {
            root.display().to_string()
        } else if let Some(user) = user.as_ref().filter(|user| **user != self.user) {
            format!("{user}, whose token was given")
        } else if let Some(name) = name.filter(|name| *name != self.name) {
            format!("the name {name}")
        } else if !self.serves(asked) {
            asked.to_string()
        } else {
            return Ok(());
        };
        let (name, works_for) = (&self.name, self.works_for());
        bail!(
            "this state directory belongs to {name}, which works for {works_for}: take another --state-dir for {other}"
        )
    }

    fn serves(&self, wanted: &Asked) -> bool {
        match (&wanted.project, &self.project) {
            (Some(wanted), Some(project)) if wanted == project => true,
            (Some(_), None) | (None, Some(_)) => false,
            // A name alone says nothing about a node that an earlier version paired; another id does.
            (project, _) => match &self.asked {
                Some(asked) => asked == wanted,
                None => project.as_ref().is_none_or(|project| !project.starts_with("prj_")),
            },
        }
    }

    /// For whom, for what and where.
    pub(super) fn works_for(&self) -> String {
        let Self { user, project, root, asked, .. } = self;
        let word = asked.as_ref().map(Asked::to_string);
        let for_whom = match (project, word) {
            (Some(project), Some(word)) if !word.contains(project) => format!("{user} in {word} ({project})"),
            (Some(project), _) => format!("{user} in project {project}"),
            (None, word) => {
                let workspace = word.unwrap_or_else(|| "its workspace".to_owned());
                format!("the members of {workspace} (paired by {user})")
            }
        };
        format!("{for_whom}, in {}", root.display())
    }

    pub(super) fn of_node(&self) -> node::Identity {
        let user = self.project.as_ref().map(|_| self.user.clone());
        node::Identity { node: self.node.clone(), user, project: self.project.clone() }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.project, &self.workspace) {
            (Some(project), Some(workspace)) => write!(f, "project {project} of workspace {workspace}"),
            (Some(project), None) => write!(f, "project {project}"),
            (None, workspace) => write!(f, "workspace {}", workspace.as_deref().unwrap_or_default()),
        }
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
    let (project, user, root, asked) = (node.project, node.user, root.to_owned(), Some(Asked::of(options)));
    let identity = Identity { node: node.id, name: node.name, key, project, user, root, asked };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(project: Option<&str>, workspace: Option<&str>) -> Asked {
        Asked { project: project.map(str::to_owned), workspace: workspace.map(str::to_owned) }
    }

    fn identity(project: Option<&str>, asked: Option<Asked>) -> Identity {
        let text = |text: &str| text.to_owned();
        let (node, name, key, user) = (text("nod_1"), text("desk"), text("k"), text("usr_ann"));
        Identity { node, name, key, project: project.map(str::to_owned), user, root: "/work".into(), asked }
    }

    #[test]
    fn a_node_is_not_started_as_another_one() {
        let paired = identity(Some("prj_1"), Some(asked(Some("alpha"), None)));
        let wanted = |asked, name, user: Option<&str>, root| {
            let wanted = Wanted { asked, name, user: user.map(str::to_owned), root: Path::new(root) };
            paired.require(&wanted).map_err(|error| error.to_string())
        };
        let (alpha, owner) = (|| asked(Some("alpha"), None), "usr_ann");
        for same in [alpha(), asked(Some("prj_1"), None), asked(Some("prj_1"), Some("home"))] {
            assert_eq!(wanted(same.clone(), None, None, "/work"), Ok(()), "{same}");
            assert_eq!(wanted(same, Some("desk"), Some(owner), "/work"), Ok(()));
        }
        for (refused, other) in [
            (wanted(alpha(), None, None, "/elsewhere"), "for /elsewhere"),
            (wanted(alpha(), None, Some("usr_bob"), "/work"), "for usr_bob, whose token was given"),
            (wanted(alpha(), Some("other"), Some(owner), "/work"), "for the name other"),
            (wanted(asked(Some("beta"), None), None, None, "/work"), "for project beta"),
            (wanted(asked(Some("prj_2"), None), None, None, "/work"), "for project prj_2"),
            (wanted(asked(Some("alpha"), Some("team")), None, None, "/work"), "for project alpha of workspace team"),
            (wanted(asked(None, Some("team")), None, None, "/work"), "for workspace team"),
        ] {
            let told = refused.unwrap_err();
            let whose = "belongs to desk, which works for usr_ann in project alpha (prj_1), in /work: take another";
            assert!(told.contains(whose) && told.ends_with(other), "{told}");
        }
    }

    #[test]
    fn one_that_an_earlier_version_paired_is_known_by_its_id_alone() {
        let earlier = identity(Some("prj_1"), None);
        let of_workspace = identity(None, None);
        for (identity, asked, expected) in [
            (&earlier, asked(Some("alpha"), None), true),
            (&earlier, asked(Some("prj_1"), None), true),
            (&earlier, asked(Some("prj_2"), None), false),
            (&earlier, asked(None, Some("team")), false),
            (&of_workspace, asked(None, Some("team")), true),
            (&of_workspace, asked(Some("alpha"), None), false),
        ] {
            assert_eq!(identity.serves(&asked), expected, "{asked}");
        }
        let kept =
            r#"{"node": "nod_1", "name": "desk", "key": "k", "project": null, "user": "usr_ann", "root": "/work"}"#;
        assert_eq!(serde_json::from_str::<Identity>(kept).unwrap().asked, None);
    }
}
