//! Workspace items: one function for the five tools, whatever the door. The scope comes from the agent and the person it
//! runs for; there is no parameter for it.

mod changes;
mod publishing;

pub use publishing::{Published, list_publications, recall};

use crate::agents::{self, AgentPath};
use crate::{Ctx, Error, Result, idempotency, policy};
use changes::Change;
use domain::Refusal;
use domain::agents::Agent;
use domain::callers::{Caller, Credential};
use domain::events::StreamId;
use domain::ids::{ItemId, PublicationId, WorkspaceId};
use domain::item_requests::{ItemAnswer, ItemListing, ItemRequest, ListedItem};
use domain::items::{ITEMS_MOST, ItemScope};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::{Operation, Tx};

/// On behalf of which agent a tool is called.
#[derive(Debug, Clone)]
pub enum Acting {
    /// The one the request's address names.
    Named(AgentPath),
    /// The one the token is for.
    Own,
}

/// An agent at work, with the scope that is its to work on.
pub(crate) struct AtWork {
    pub(crate) agent: Agent,
    pub(crate) scope: ItemScope,
}

impl Acting {
    /// Finds the agent and decides its scope. No tool reaches an item without passing here.
    pub(crate) async fn resolve(&self, tx: &mut Tx, caller: &Caller, tool: &str) -> Result<AtWork> {
        let agent = match self {
            Self::Named(path) => agents::find(tx, caller, path).await?,
            Self::Own => agents::find_own(tx, caller).await?,
        };
        tx.about(agent.id.as_str());
        policy::require_platform(caller, &agent, tool)?;
        let scope = agent.item_scope(&caller.user);
        Ok(AtWork { agent, scope })
    }
}

/// Calls one of the `workspace_*` tools.
pub async fn call(ctx: &Ctx, acting: Acting, tool: &str, envelope: Map<String, Value>) -> Result<ItemAnswer> {
    let request = ItemRequest::parse(tool, envelope)?;
    let (caller, tool) = (ctx.caller.clone(), request.tool());
    match request {
        ItemRequest::List => ctx.house.store().scan(Look { caller, acting, tool, request, most: ITEMS_MOST }).await,
        ItemRequest::Read { .. } => ctx.house.store().read(Look { caller, acting, tool, request, most: 1 }).await,
        request => {
            let (item, publication) =
                (ItemId::generated(ctx.house.unique()), PublicationId::generated(ctx.house.unique()));
            let turn = turn(&caller);
            let change = Change { caller, acting, tool, request, now: ctx.now(), item, publication };
            idempotency::write(ctx, &turn, change).await
        }
    }
}

/// The newest items of the token's own agent.
pub async fn newest(ctx: &Ctx, most: u64) -> Result<Vec<ListedItem>> {
    let (caller, request) = (ctx.caller.clone(), ItemRequest::List);
    let look = Look { caller, acting: Acting::Own, tool: request.tool(), request, most };
    match ctx.house.store().scan(look).await? {
        ItemAnswer::Listing(listing) => Ok(listing.items),
        _ => Err(store::Error::BadOperation("a list of items is a list").into()),
    }
}

/// In whose turn a change waits; the true scope is found in the transaction.
fn turn(caller: &Caller) -> WorkspaceId {
    match &caller.credential {
        Credential::Agent { agent, .. } => agent.workspace.clone(),
        _ => WorkspaceId::personal(&caller.user),
    }
}

struct Look {
    caller: Arc<Caller>,
    acting: Acting,
    tool: &'static str,
    request: ItemRequest,
    /// How many items a list has at most.
    most: u64,
}

impl Operation for Look {
    type Output = ItemAnswer;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<ItemAnswer> {
        let AtWork { scope, .. } = self.acting.resolve(tx, &self.caller, self.tool).await?;
        if let ItemRequest::Read { key } = &self.request {
            let item = tx.items(&scope).get(key).await?.ok_or_else(Refusal::item_not_found)?;
            return Ok(ItemAnswer::Read(item.into()));
        }
        let items = tx.items(&scope).newest(self.most).await?.into_iter().map(Into::into).collect();
        Ok(ItemAnswer::Listing(ItemListing { items }))
    }
}

/// Takes a whole scope away, with what was told about it.
pub(crate) async fn remove_scope(tx: &mut Tx, scope: &ItemScope) -> Result<()> {
    tx.items(scope).remove_all().await?;
    tx.scope(scope.workspace()).events().remove(&StreamId::of_items(scope)).await?;
    Ok(())
}
