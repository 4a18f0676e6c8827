//! Nodes: who has which, whether they are there, and how they go. How they come is in `pairing`.

pub(crate) mod pairing;
mod presence;

pub use pairing::{AskToPair, PairedNode, PairingCode, ServesWhat, SignInNode, ask, confirm, pair, sign_in};
pub use presence::{heard_of, tell_of_the_gone, tell_of_the_gone_once};

use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::{UserId, WorkspaceId};
use domain::nodes::{Node, Serves};
use domain::roles::Role;
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, Tx};

/// Whether somebody sees a node: their own, and those that serve the members of a workspace of theirs.
fn is_seen_by(node: &Node, user: &UserId) -> bool {
    node.user == *user || node.serves == Serves::Members
}

/// The nodes that the caller can see, by workspace and name. There are few: they are not paged.
pub async fn list(ctx: &Ctx) -> Result<Vec<Node>> {
    ctx.caller.require_person()?;
    ctx.house.store().read(List { user: ctx.caller.user.clone() }).await
}

struct List {
    user: UserId,
}

impl Operation for List {
    type Output = Vec<Node>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Node>> {
        let nodes = tx.nodes_seen_by(&self.user).await?;
        Ok(nodes.into_iter().filter(|node| is_seen_by(node, &self.user)).collect())
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
        let node = find(tx, &self.caller.user, &self.id_or_name).await?;
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
pub(crate) async fn find(tx: &mut Tx, user: &UserId, id_or_name: &str) -> Result<Node> {
    let seen = tx.nodes_seen_by(user).await?.into_iter().filter(|node| is_seen_by(node, user));
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
