//! Who a bearer is. A token is believed for a moment only: its row and its user are looked at again at least every
//! second, and at once when anything was revoked in this process.

use crate::sessions::SessionRef;
use crate::signing::unauthenticated;
use crate::tokens::{Settle, Wanted};
use crate::{Error, House, Result};
use domain::callers::{AgentRef, Caller, Credential};
use domain::ids::{AgentId, SessionId, TokenId, WorkspaceId};
use domain::participants::Participant;
use domain::roles::Role;
use domain::times::Timestamp;
use domain::tokens::{AgentPlace, Token, TokenKind};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use store::{Operation, Store, Tx};
use tokio::sync::watch;

const BELIEVED_MS: i64 = 1_000;
const REMEMBERED_MOST: usize = 10_000;

/// A caller and how long its credential lasts.
#[derive(Debug)]
pub struct SignedIn {
    pub caller: Arc<Caller>,
    /// `None` for the operator, who has no token.
    pub token: Option<TokenId>,
    pub expires_at: Option<Timestamp>,
}

struct Remembered {
    signed_in: Arc<SignedIn>,
    checked_at: Timestamp,
    epoch: u64,
}

pub struct Authority {
    remembered: RwLock<HashMap<String, Remembered>>,
    /// Moves whenever somebody's rights may have shrunk. Open streams watch it.
    epoch: watch::Sender<u64>,
    closing: AtomicBool,
}

impl Authority {
    pub(crate) fn new(store: &Store) -> Self {
        Self { remembered: RwLock::default(), epoch: store.rights().clone(), closing: AtomicBool::new(false) }
    }

    /// Ends every open stream; the house takes no more work.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.epoch.send_modify(|epoch| *epoch += 1);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.epoch.subscribe()
    }

    fn recall(&self, text: &str, now: Timestamp) -> Option<Arc<SignedIn>> {
        let remembered = self.remembered.read().unwrap_or_else(PoisonError::into_inner);
        let found = remembered.get(text)?;
        let fresh = found.epoch == *self.epoch.borrow() && now < found.checked_at.plus_ms(BELIEVED_MS);
        let live = found.signed_in.expires_at.is_none_or(|at| now < at);
        (fresh && live).then(|| found.signed_in.clone())
    }

    fn remember(&self, text: &str, entry: Remembered) {
        let mut remembered = self.remembered.write().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED_MOST {
            remembered.clear();
        }
        remembered.insert(text.to_owned(), entry);
    }
}

/// Finds out whose token this is.
pub async fn authenticate(house: &House, text: &str) -> Result<Arc<SignedIn>> {
    let authority = house.authority();
    let now = house.now();
    if let Some(signed_in) = authority.recall(text, now) {
        return Ok(signed_in);
    }
    // Read before the rows are, so that a revocation in between is noticed the next time.
    let epoch = *authority.epoch.borrow();
    let claimed = house.signer().read(text, now)?;
    let (token, caller) = house.store().read(LookUp { id: claimed.id, now }).await?;
    if token.user != claimed.user || token.kind != claimed.kind {
        return Err(unauthenticated().into());
    }
    let signed_in =
        Arc::new(SignedIn { caller: Arc::new(caller), token: Some(token.id), expires_at: Some(token.expires_at) });
    authority.remember(text, Remembered { signed_in: signed_in.clone(), checked_at: now, epoch });
    Ok(signed_in)
}

/// Whether somebody let in earlier may still be here, and as what.
pub(crate) async fn check_again(house: &House, signed_in: &SignedIn) -> Result<Role> {
    let Some(id) = &signed_in.token else { return Ok(signed_in.caller.role.clone()) };
    Ok(house.store().read(LookUp { id: id.clone(), now: house.now() }).await?.1.role)
}

/// As whom a command on the house's own machine acts.
#[derive(Debug, Clone, Default)]
pub struct LocalActor<'a> {
    pub user: Option<&'a str>,
    pub participant: Option<&'a str>,
    /// With an agent or a session the command reaches no more than a token for them would.
    pub agent: Option<&'a str>,
    pub session: Option<&'a str>,
    /// Where several sessions have that id.
    pub workspace: Option<&'a str>,
}

/// The person who runs the house, for commands given on its own machine.
pub async fn operator(house: &House, actor: LocalActor<'_>) -> Result<Arc<SignedIn>> {
    let id = domain::ids::UserId::parse(actor.user.unwrap_or(crate::users::OWNER))?;
    let participant = actor.participant.map(Participant::parse_agent).transpose()?;
    let user = house.store().read(crate::users::Find { id }).await?;
    let mut caller = Caller {
        participant: participant.clone().unwrap_or_else(|| Participant::of_user(&user.id)),
        user: user.id,
        role: Role::Admin,
        credential: Credential::Operator,
    };
    narrow(house, &mut caller, &actor, (participant, user.role)).await?;
    Ok(Arc::new(SignedIn { caller: Arc::new(caller), token: None, expires_at: None }))
}

/// Leaves a caller what a token for that agent or session would give.
async fn narrow(
    house: &House,
    caller: &mut Caller,
    actor: &LocalActor<'_>,
    (participant, role): (Option<Participant>, Role),
) -> Result<()> {
    let session = actor.session.map(|id| SessionRef::parse(id, actor.workspace.map(str::to_owned)));
    let session = session.transpose()?;
    let wanted = match (actor.agent.map(AgentId::parse).transpose()?, session) {
        (Some(agent), session) => Wanted::Agent { agent, session, participant },
        (None, Some(session)) => Wanted::Session { session, participant },
        (None, None) => return Ok(()),
    };
    let settle = Settle { caller: Arc::new(caller.clone()), user: caller.user.clone(), wanted };
    let (TokenKind::Agent { workspace, agent, session, participant }, _) = house.store().read(settle).await? else {
        return Err(unauthenticated().into());
    };
    caller.credential = agent_credential(&workspace, agent.as_ref(), session.as_ref())?;
    caller.participant = participant;
    // As a token of theirs would have it, and not as whoever has the machine.
    caller.role = role;
    Ok(())
}

fn agent_credential(
    workspace: &WorkspaceId,
    agent: Option<&AgentPlace>,
    session: Option<&SessionId>,
) -> Result<Credential> {
    let (workspace, session) = (workspace.clone(), session.cloned());
    match (agent, session) {
        (Some(AgentPlace { project, id }), session) => {
            let agent = AgentRef { workspace, project: project.clone(), id: id.clone() };
            Ok(Credential::Agent { agent, session })
        }
        (None, Some(session)) => Ok(Credential::Session { workspace, session }),
        (None, None) => Err(unauthenticated().into()),
    }
}

struct LookUp {
    id: TokenId,
    now: Timestamp,
}

impl Operation for LookUp {
    type Output = (Token, Caller);
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<(Token, Caller)> {
        let token = tx.token(&self.id).await?.filter(|token| token.is_live(self.now)).ok_or_else(unauthenticated)?;
        let user = tx.user(&token.user).await?.ok_or_else(unauthenticated)?;
        let (participant, credential) = match &token.kind {
            TokenKind::User => (Participant::of_user(&user.id), Credential::User),
            TokenKind::Agent { workspace, agent, session, participant } => {
                (participant.clone(), agent_credential(workspace, agent.as_ref(), session.as_ref())?)
            }
            TokenKind::Channel { channel } => {
                (Participant::of_user(&user.id), Credential::Channel { channel: channel.clone() })
            }
            TokenKind::Node { workspace, node } => {
                // A node of somebody who has left serves nobody.
                let found = tx.scope(workspace).nodes().get(node).await?.ok_or_else(unauthenticated)?;
                if found.user != user.id || !tx.is_member(&user.id, workspace).await? {
                    return Err(unauthenticated().into());
                }
                let credential = Credential::Node { workspace: workspace.clone(), node: node.clone() };
                (Participant::of_user(&user.id), credential)
            }
        };
        let caller = Caller { user: user.id, role: user.role, participant, credential };
        Ok((token, caller))
    }
}
