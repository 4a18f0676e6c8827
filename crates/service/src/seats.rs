//! A seat in a session for somebody on the house's own machine: what a token for that session would give, without one.

use crate::authority::{self, SignedIn};
use crate::sessions::{Get, SessionRef};
use crate::{House, Result};
use domain::callers::{Caller, Credential};
use domain::participants::Participant;
use domain::roles::Role;
use std::sync::Arc;

/// Narrows the operator to one participant of one session that the user can see.
pub async fn take(
    house: &House,
    user: Option<&str>,
    session: SessionRef,
    participant: Option<&str>,
) -> Result<Arc<SignedIn>> {
    let operator = authority::operator(house, user, participant).await?;
    let found = house.store().read(Get { caller: operator.caller.clone(), reference: session }).await?;
    let participant =
        if participant.is_some() { operator.caller.participant.clone() } else { Participant::orchestrator() };
    let caller = Caller {
        user: operator.caller.user.clone(),
        // A seat reaches its session and nothing that a role would open.
        role: Role::Guest,
        participant,
        credential: Credential::Session { workspace: found.workspace, session: found.id },
    };
    Ok(Arc::new(SignedIn { caller: Arc::new(caller), token: None, expires_at: None }))
}
