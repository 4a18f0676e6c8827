//! What every operation is given: on whose behalf, in which house, and which request it is.

use crate::House;
use crate::authority::SignedIn;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::ids::TokenId;
use domain::times::Timestamp;
use std::sync::Arc;

#[derive(Clone)]
pub struct Ctx {
    pub caller: Arc<Caller>,
    pub house: House,
    /// The token that let the caller in and when it ends; the operator has none.
    pub token: Option<(TokenId, Timestamp)>,
    /// The request's idempotency key, if it has one.
    pub claim: Option<store::Claim>,
}

impl Ctx {
    pub fn new(house: House, signed_in: &SignedIn) -> Self {
        let token = signed_in.token.clone().zip(signed_in.expires_at);
        Self { caller: signed_in.caller.clone(), house, token, claim: None }
    }

    pub fn now(&self) -> Timestamp {
        self.house.now()
    }

    pub fn audit(&self, action: &'static str, at: Timestamp) -> AuditRecord {
        AuditRecord::new(&self.caller, action, at)
    }
}
