//! What the house knows about a place and a sender, and what follows from it. Looks only.

use crate::projects::home;
use crate::{Ctx, Error, Result};
use domain::channels::{ChatType, InboundMessage};
use domain::deliveries::DeliveryTarget;
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::routing::{self, Facts, Routing};
use domain::sessions::SessionState;
use domain::users::User;
use domain::workspaces::{ChannelPlace, Identity, Reply};
use store::{Operation, Tx};

/// Who wrote, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub place: ChannelPlace,
    pub chat: ChatType,
    /// The provider's own id; none if it vouches for nobody.
    pub sender: Option<String>,
}

impl Asked {
    pub(super) fn of(message: &InboundMessage) -> Self {
        Self { place: message.place.clone(), chat: message.chat, sender: message.sender_id.clone() }
    }

    fn of_target(target: &DeliveryTarget) -> Self {
        Self { place: target.place.clone(), chat: target.chat(), sender: Some(target.sender_id.clone()) }
    }

    /// Whether there can be such a place at all. A direct chat of discord has no guild, and cannot be bound.
    fn check(&self) -> Result<()> {
        let ChannelPlace { channel, chat_id, guild_id, channel_id } = &self.place;
        let is_direct = channel == "discord" && self.chat == ChatType::Direct;
        match (chat_id, guild_id, channel_id) {
            (None, None, Some(id)) if is_direct => {
                let as_place = ChannelPlace { guild_id: Some(id.clone()), ..self.place.clone() };
                Ok(as_place.check()?)
            }
            _ => Ok(self.place.check()?),
        }
    }

    /// None for what is no provider's id: a handle, a display name, anything invisible.
    pub(super) fn identity(&self) -> Option<Identity> {
        let identity = Identity { channel: self.place.channel.clone(), id: self.sender.clone()? };
        identity.check().is_ok().then_some(identity)
    }
}

/// What follows for a message.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    pub(super) routing: Routing,
    pub(super) user: Option<User>,
    /// What the binding says about groups.
    pub(super) reply: Option<Reply>,
}

/// Gathers the facts and decides. What is true of them now is true of everything else in the transaction.
pub(super) async fn look(tx: &mut Tx, asked: &Asked) -> Result<Looked> {
    let known = match asked.identity() {
        Some(identity) => tx.user_of(&identity).await?,
        None => None,
    };
    let user = match &known {
        Some(id) => tx.user(id).await?,
        None => None,
    };
    let bound = tx.bound_place(&asked.place).await?;
    let reply = bound.as_ref().and_then(|bound| bound.binding.reply);
    let bound = bound.map(|bound| bound.workspace);
    let sender = user.as_ref().map(|user| user.id.clone());
    let to = sender.as_ref().and_then(|sender| routing::destination(asked.chat, sender, bound.as_ref()));
    let mut facts = Facts { chat: asked.chat, sender, bound, is_member: false, session: None };
    if let (Some(workspace), Some(sender)) = (&to, &facts.sender) {
        facts.is_member = tx.is_member(sender, workspace).await?;
        if facts.is_member {
            facts.session = live_session(tx, workspace, &asked.place).await?;
        }
    }
    Ok(Looked { routing: routing::decide(&facts), user, reply })
}

/// The session of the place, if it can still be talked in.
async fn live_session(tx: &mut Tx, workspace: &WorkspaceId, place: &ChannelPlace) -> Result<Option<SessionId>> {
    let Some(id) = tx.scope(workspace).place_sessions().of(&place.as_key()).await? else { return Ok(None) };
    let found = tx.scope(workspace).sessions().get(&id).await?;
    let home = home::find(tx, workspace).await?.map(|project| project.id);
    let is_live = found.is_some_and(|session| session.state == SessionState::Active && session.project == home);
    Ok(is_live.then_some(id))
}

/// Whether what is said in a place still goes to this person in this workspace.
pub(super) async fn leads_to(
    tx: &mut Tx,
    target: &DeliveryTarget,
    workspace: &WorkspaceId,
    user: &UserId,
) -> Result<bool> {
    let looked = look(tx, &Asked::of_target(target)).await?;
    Ok(looked.routing.decision.is_ok_and(|route| route.workspace == *workspace && route.user == *user))
}

pub(super) struct Look {
    pub(super) asked: Asked,
}

impl Operation for Look {
    type Output = Looked;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Looked> {
        look(tx, &self.asked).await
    }
}

/// Where a message would go, by which steps.
#[derive(Debug, Clone)]
pub struct Explained {
    pub routing: Routing,
}

/// Explains a routing to an admin without doing it.
pub async fn explain(ctx: &Ctx, asked: Asked) -> Result<Explained> {
    ctx.caller.require_admin()?;
    asked.check()?;
    ctx.house.store().read(Explain { asked }).await
}

struct Explain {
    asked: Asked,
}

impl Operation for Explain {
    type Output = Explained;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Explained> {
        let routing = look(tx, &self.asked).await?.routing;
        let Ok(route) = &routing.decision else { return Ok(Explained { routing }) };
        let agents = match home::find(tx, &route.workspace).await? {
            Some(home) => tx.scope(&route.workspace).agents(&home.id).all().await?,
            None => Vec::new(),
        };
        // A home project that is not there yet comes with the starters.
        let first = domain::agents::starter_pack(None)[0].name.clone();
        let name = routing::answerer(&agents).map_or(first, |agent| agent.name.clone());
        Ok(Explained { routing: routing.answered_by(&name) })
    }
}
