//! Nodes: who has which, whether they are there, and how they go. How they come is in `pairing`.

pub(crate) mod pairing;
mod presence;

pub use pairing::{AskToPair, PairedNode, PairingCode, ServesWhat, SignInNode, ask, confirm, pair, sign_in};
pub use presence::{heard_of, tell_of_the_gone, tell_of_the_gone_once};

use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::WorkspaceId;
use domain::nodes::{Node, Serves};
use domain::roles::Role;
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, Tx};

/// The nodes that somebody sees, by workspace and name: their own, and those that serve the members of a workspace of theirs.
/// Admins see all that serve members: somebody has to be able to remove them.
async fn seen_by(tx: &mut Tx, caller: &Caller) -> Result<Vec<Node>> {
    let is_seen = |node: &Node| node.user == caller.user || node.serves == Serves::Members;
    let mut nodes = tx.nodes_seen_by(&caller.user).await?;
    nodes.retain(is_seen);
    if caller.role == Role::Admin {
        nodes.extend(tx.nodes_of_members().await?);
        nodes.sort_by(|one, other| (&one.workspace, &one.name).cmp(&(&other.workspace, &other.name)));
        nodes.dedup_by(|one, other| one.id == other.id);
    }
    Ok(nodes)
}

/// The nodes that the caller can see, by workspace and name. There are few: they are not paged.
pub async fn list(ctx: &Ctx) -> Result<Vec<Node>> {
    ctx.caller.require_person()?;
    ctx.house.store().read(List { caller: ctx.caller.clone() }).await
}

struct List {
    caller: Arc<Caller>,
}

impl Operation for List {
    type Output = Vec<Node>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Node>> {
        seen_by(tx, &self.caller).await
    }
}

/// Removes a node: its tokens end at once, and its key opens nothing any more. Whoever paired it may; one that
/// serves a workspace, an admin of it, too.
pub async fn remove(ctx: &Ctx, id_or_name: &str) -> Result<()> {
    ctx.caller.require_person()?;
    let operation = Remove { caller: ctx.caller.clone(), id_or_name: id_or_name.to_owned(), now: ctx.now() };
    ctx.house.store().write(&WorkspaceId::personal(&ctx.caller.user), operation).await
}

struct Remove {
    caller: Arc<Caller>,
    id_or_name: String,
    now: Timestamp,
}

impl Operation for Remove {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let node = find(tx, &self.caller, &self.id_or_name).await?;
        if node.user != self.caller.user && self.caller.role != Role::Admin {
            return Err(Refusal::forbidden("only whoever paired a node, or an admin, removes it").into());
        }
        take_away(tx, &node, self.now).await?;
        let record = AuditRecord::new(&self.caller, "node.remove", self.now).with("node", node.id.as_str());
        tx.scope(&node.workspace).audit().append(record);
        Ok(())
    }
}

/// Finds a node that somebody can see, by its id, or by a name that only one of them has.
async fn find(tx: &mut Tx, caller: &Caller, id_or_name: &str) -> Result<Node> {
    let seen = seen_by(tx, caller).await?.into_iter();
    let mut found: Vec<Node> = seen.filter(|node| node.id.as_str() == id_or_name || node.name == id_or_name).collect();
    if found.len() > 1 {
        let message = "you can see several nodes of that name: take the id";
        return Err(Refusal::new(domain::Code::NodeAmbiguous, message).into());
    }
    Ok(found.pop().ok_or_else(Refusal::node_not_found)?)
}

/// Takes a node away with everything that is only its own.
pub(crate) async fn take_away(tx: &mut Tx, node: &Node, now: Timestamp) -> Result<()> {
    tx.scope(&node.workspace).standing_rules().delete_of_node(&node.id).await?;
    tx.scope(&node.workspace).nodes().delete(&node.id).await?;
    tx.revoke_node_tokens(&node.id, now).await?;
    tx.rights_shrank();
    Ok(())
}
