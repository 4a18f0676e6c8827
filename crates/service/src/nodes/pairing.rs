//! How a node comes into the house: it asks and shows a code, and a person confirms it; or it brings a person's token.
//! After that it signs in with a key of its own.

use crate::projects::{self, ProjectRef};
use crate::tokens::Issued;
use crate::{Ctx, Error, House, Result, idempotency, rules, workspaces};
use data_encoding::HEXLOWER;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::{NodeId, TokenId, WorkspaceId};
use domain::nodes::{Machine, Node, PAIRED_WITHIN_S, Serves, check_name};
use domain::rules::Rules;
use domain::times::Timestamp;
use domain::tokens::{Token, TokenKind};
use domain::{Code, Refusal};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use store::{Operation, Pairing, Tx};

/// Codes that wait for somebody, in the whole house.
const OPEN_MOST: u64 = 1_000;
const TOKEN_LASTS_S: u64 = 24 * 3600;
/// Without letters and digits that people take for one another.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// What a node says of itself when it asks to come in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskToPair {
    pub name: String,
    pub serves: ServesWhat,
    pub machine: Machine,
    /// SHA-256 of the key that it keeps to itself, in hex.
    pub key_hash: String,
}

/// For whom it is to work, in the words of whoever started it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServesWhat {
    Project(ProjectRef),
    Workspace(String),
}

/// What a person confirms. Shown this once.
#[derive(Debug, Clone, PartialEq)]
pub struct PairingCode {
    pub code: String,
    pub expires_at: Timestamp,
}

/// A node that is in, and a token for it to work with.
pub struct PairedNode {
    pub node: Node,
    pub issued: Issued,
}

impl AskToPair {
    fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        self.machine.check()?;
        let is_hash =
            self.key_hash.len() == 64 && self.key_hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_hash {
            return Err(Refusal::invalid_field("key_hash", "`key_hash` is a SHA-256 in 64 hex digits").into());
        }
        Ok(())
    }
}

pub(crate) fn hash(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

/// Eight letters of chance, for people to read out.
pub(crate) fn letters(random: &[u8]) -> String {
    random.iter().take(8).map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

/// The same as people see it.
pub(crate) fn shown(letters: &str) -> String {
    let (first, second) = letters.split_at(letters.len().min(4));
    format!("{first}-{second}")
}

/// People may write it in small letters and without the dash.
pub(crate) fn plain(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase()
}

/// Takes down that a node wants to come in. Nobody has let it in by that.
pub async fn ask(house: &House, input: AskToPair) -> Result<PairingCode> {
    input.check()?;
    let letters = letters(&house.random());
    let now = house.now();
    let expires_at = now.plus_seconds(PAIRED_WITHIN_S);
    let asked = serde_json::to_string(&input).map_err(|_| Refusal::invalid("this cannot be kept"))?;
    let pairing = Pairing { code_hash: hash(&letters), asked, expires_at, node: None };
    house.store().write(&crate::users::house_chain(), Ask { pairing, now }).await?;
    Ok(PairingCode { code: shown(&letters), expires_at })
}

struct Ask {
    pairing: Pairing,
    now: Timestamp,
}

impl Operation for Ask {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        tx.forget_pairings(self.now).await?;
        if tx.open_pairings(self.now).await? >= OPEN_MOST {
            let message = "too many nodes wait to be let in: try again in some minutes";
            return Err(Refusal::new(Code::RateLimited, message).with("retry_after_ms", 60_000).into());
        }
        Ok(tx.create_pairing(&self.pairing).await?)
    }
}

/// Lets a node in that shows this code. It works for whoever says so from now on.
pub async fn confirm(ctx: &Ctx, code: &str) -> Result<Node> {
    ctx.caller.require_person()?;
    let rules = rules::in_force(&ctx.house).await?;
    let (id, now) = (NodeId::generated(ctx.house.unique()), ctx.now());
    let admission = Admission { caller: ctx.caller.clone(), rules, id, now };
    let operation = Confirm { code_hash: hash(&plain(code)), admission };
    idempotency::write(ctx, &WorkspaceId::personal(&ctx.caller.user), operation).await
}

/// Lets a node in that brings a person's own token.
pub async fn pair(ctx: &Ctx, input: AskToPair) -> Result<Node> {
    ctx.caller.require_person()?;
    input.check()?;
    let rules = rules::in_force(&ctx.house).await?;
    let (id, now) = (NodeId::generated(ctx.house.unique()), ctx.now());
    let operation = Pair { input, admission: Admission { caller: ctx.caller.clone(), rules, id, now } };
    ctx.house.store().write(&WorkspaceId::personal(&ctx.caller.user), operation).await
}

/// Who lets a node in, and by which rules.
struct Admission {
    caller: Arc<Caller>,
    rules: Arc<Rules>,
    id: NodeId,
    now: Timestamp,
}

impl Admission {
    async fn admit(&self, tx: &mut Tx, asked: &AskToPair) -> Result<Node> {
        let (workspace, serves) = self.place(tx, asked).await?;
        let node = Node {
            workspace,
            id: self.id.clone(),
            name: asked.name.clone(),
            user: self.caller.user.clone(),
            serves,
            key_hash: asked.key_hash.clone(),
            machine: asked.machine.clone(),
            paired_at: self.now,
            last_seen_at: None,
        };
        if !tx.scope(&node.workspace).nodes().create(&node).await? {
            let message = "the workspace has a node of that name already: remove it first, or take another `--name`";
            return Err(Refusal::new(Code::NodeExists, message).with("name", node.name.as_str()).into());
        }
        let record = AuditRecord::new(&self.caller, "node.pair", self.now)
            .with("node", node.id.as_str())
            .with("name", node.name.as_str());
        tx.scope(&node.workspace).audit().append(record);
        Ok(node)
    }

    async fn place(&self, tx: &mut Tx, asked: &AskToPair) -> Result<(WorkspaceId, Serves)> {
        match &asked.serves {
            ServesWhat::Project(reference) => {
                let project = projects::find(tx, &self.caller, reference).await?;
                Ok((project.workspace, Serves::Project(project.id)))
            }
            ServesWhat::Workspace(name) => {
                let workspace = workspaces::find(tx, &self.caller, name).await?.id;
                self.caller.require_admin()?;
                // A node works in the name of whoever let it in, and for members only.
                if !tx.is_member(&self.caller.user, &workspace).await? {
                    let message = "whoever lets a node in for a workspace is a member of it: become one first, or ask an \
                                   admin who is";
                    return Err(Refusal::forbidden(message).into());
                }
                let settings = self.rules.workspace(&workspace);
                let is_listed = settings.nodes.as_ref().is_some_and(|names| names.contains(&asked.name));
                if !is_listed {
                    let message = "the workspace does not list this node's name under `nodes`";
                    return Err(Refusal::forbidden(message).into());
                }
                Ok((workspace, Serves::Members))
            }
        }
    }
}

struct Confirm {
    code_hash: String,
    admission: Admission,
}

impl Operation for Confirm {
    type Output = Node;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Node> {
        let pairing = tx.pairing(&self.code_hash).await?;
        let open = pairing.filter(|pairing| pairing.node.is_none() && self.admission.now < pairing.expires_at);
        let pairing = open.ok_or_else(pairing_not_found)?;
        let asked: AskToPair = serde_json::from_str(&pairing.asked).map_err(|_| pairing_not_found())?;
        let node = self.admission.admit(tx, &asked).await?;
        if !tx.confirm_pairing(&self.code_hash, &node.workspace, &node.id).await? {
            return Err(pairing_not_found().into());
        }
        Ok(node)
    }
}

struct Pair {
    input: AskToPair,
    admission: Admission,
}

impl Operation for Pair {
    type Output = Node;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Node> {
        self.admission.admit(tx, &self.input).await
    }
}

fn pairing_not_found() -> Refusal {
    let message = "this code is unknown, used or too old: start `longhouse connect` again for a new one";
    Refusal::new(Code::PairingNotFound, message)
}

/// By what a node is known that signs in.
#[derive(Debug, Clone)]
pub enum SignInNode {
    /// By the code that a person may have confirmed meanwhile.
    Code(String),
    Node(String),
}

/// Gives a node a token, for the key whose hash it gave when it asked to come in. None while its code waits for a person.
pub async fn sign_in(house: &House, by: SignInNode, key: &str) -> Result<Option<PairedNode>> {
    let (id, now) = (TokenId::generated(house.unique()), house.now());
    let by = match by {
        SignInNode::Code(code) => SignInNode::Code(hash(&plain(&code))),
        by @ SignInNode::Node(_) => by,
    };
    let operation = SignIn { by, key_hash: hash(key), id, now };
    let Some((node, token)) = house.store().write(&crate::users::house_chain(), operation).await? else {
        return Ok(None);
    };
    Ok(Some(PairedNode { node, issued: Issued { text: house.signer().sign(&token)?, token } }))
}

struct SignIn {
    by: SignInNode,
    key_hash: String,
    id: TokenId,
    now: Timestamp,
}

impl Operation for SignIn {
    type Output = Option<(Node, Token)>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output> {
        let refusal = || Refusal::new(Code::Unauthenticated, "there is no node of that key: pair it again");
        let id = match &self.by {
            SignInNode::Node(id) => NodeId::parse(id).map_err(|_| refusal())?,
            SignInNode::Code(code_hash) => {
                let pairing = tx.pairing(code_hash).await?.filter(|pairing| self.now < pairing.expires_at);
                let pairing = pairing.ok_or_else(pairing_not_found)?;
                let asked: AskToPair = serde_json::from_str(&pairing.asked).map_err(|_| pairing_not_found())?;
                // Whoever only saw the code on a screen learns nothing.
                if asked.key_hash != self.key_hash {
                    return Err(pairing_not_found().into());
                }
                let Some((_, id)) = pairing.node else { return Ok(None) };
                id
            }
        };
        let node = tx.node(&id).await?.filter(|node| node.key_hash == self.key_hash).ok_or_else(refusal)?;
        if !tx.is_member(&node.user, &node.workspace).await? {
            return Err(refusal().into());
        }
        let token = Token {
            id: self.id.clone(),
            user: node.user.clone(),
            kind: TokenKind::Node { workspace: node.workspace.clone(), node: node.id.clone() },
            label: Some(format!("node {}", node.name)),
            created_at: self.now,
            expires_at: self.now.plus_seconds(TOKEN_LASTS_S),
            revoked_at: None,
            made_by: None,
        };
        tx.create_token(&token).await?;
        let record = crate::audit::by_house("node.sign_in", self.now).with("node", node.id.as_str());
        tx.scope(&node.workspace).audit().append(record);
        Ok(Some((node, token)))
    }
}
