//! Whether nodes are there. One that asks for something is; one that has not asked for a while is gone.

use crate::{Ctx, Error, House, Result};
use domain::Refusal;
use domain::callers::Credential;
use domain::events::Event;
use domain::ids::{NodeId, WorkspaceId};
use domain::nodes::{GONE_AFTER_S, LOOKS_EVERY_S, Node};
use domain::times::Timestamp;
use std::time::Duration;
use store::{Operation, Tx};

/// What is known of a node is written down no more often than this.
const NOTED_EVERY_S: u64 = LOOKS_EVERY_S / 3;
const LOOKED_FOR_EVERY: Duration = Duration::from_secs(10);
const TOLD_AT_ONCE: u64 = 64;

/// A node has asked for something: it is there. Gives it as it is known.
pub async fn heard_of(ctx: &Ctx) -> Result<Node> {
    let Credential::Node { workspace, node } = &ctx.caller.credential else {
        return Err(Refusal::forbidden("this is for nodes").into());
    };
    let (workspace, id, now) = (workspace.clone(), node.clone(), ctx.now());
    let known = ctx.house.store().read(Get { workspace: workspace.clone(), id: id.clone() }).await?;
    let is_fresh = known.last_seen_at.is_some_and(|seen| now < seen.plus_seconds(NOTED_EVERY_S));
    if is_fresh {
        return Ok(known);
    }
    ctx.house.store().write(&workspace.clone(), Seen { workspace, id, now }).await
}

struct Get {
    workspace: WorkspaceId,
    id: NodeId,
}

impl Operation for Get {
    type Output = Node;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Node> {
        Ok(tx.scope(&self.workspace).nodes().get(&self.id).await?.ok_or_else(Refusal::node_not_found)?)
    }
}

struct Seen {
    workspace: WorkspaceId,
    id: NodeId,
    now: Timestamp,
}

impl Operation for Seen {
    type Output = Node;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Node> {
        let found = tx.scope(&self.workspace).nodes().get(&self.id).await?.ok_or_else(Refusal::node_not_found)?;
        tx.scope(&self.workspace).nodes().seen(&self.id, self.now).await?;
        let node = Node { last_seen_at: Some(self.now), ..found };
        tell(tx, &node, true, self.now).await?;
        Ok(node)
    }
}

/// Tells the workspace that a node has come or gone, if that is news.
async fn tell(tx: &mut Tx, node: &Node, online: bool, now: Timestamp) -> Result<()> {
    if tx.scope(&node.workspace).nodes().put_online(&node.id, online).await? {
        tx.scope(&node.workspace).events().append_workspace(&Event::node(node, online, now)).await?;
        if !online {
            tx.scope(&node.workspace).events().append_workspace(&Event::node_lost(node, now)).await?;
        }
    }
    Ok(())
}

/// Tells of nodes that are gone. Runs until it is dropped.
pub async fn tell_of_the_gone(house: &House) {
    loop {
        match tell_of_the_gone_once(house).await {
            Ok(()) => {}
            Err(_) if house.authority().is_closing() => return,
            Err(error) => tracing::warn!(%error, "nodes that are gone could not be told of yet"),
        }
        tokio::time::sleep(LOOKED_FOR_EVERY).await;
    }
}

pub async fn tell_of_the_gone_once(house: &House) -> Result<()> {
    let now = house.now();
    let before = now.plus_ms(-i64::try_from(GONE_AFTER_S * 1000).unwrap_or(i64::MAX));
    for node in house.store().read(Gone { before }).await? {
        let turn = node.workspace.clone();
        house.store().write(&turn, Leave { node, before, now }).await?;
    }
    Ok(())
}

struct Gone {
    before: Timestamp,
}

impl Operation for Gone {
    type Output = Vec<Node>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Node>> {
        Ok(tx.nodes_gone_since(self.before, TOLD_AT_ONCE).await?)
    }
}

struct Leave {
    node: Node,
    before: Timestamp,
    now: Timestamp,
}

impl Operation for Leave {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let found = tx.scope(&self.node.workspace).nodes().get(&self.node.id).await?;
        // It may have come back since.
        let Some(node) = found.filter(|node| node.last_seen_at.is_some_and(|seen| seen < self.before)) else {
            return Ok(());
        };
        tell(tx, &node, false, self.now).await
    }
}
