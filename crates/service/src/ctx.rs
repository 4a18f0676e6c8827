//! What every operation is given: on whose behalf, in which house, and which request it is.

use crate::House;
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::times::Timestamp;
use std::sync::Arc;

#[derive(Clone)]
pub struct Ctx {
    pub caller: Arc<Caller>,
    pub house: House,
    /// The request's idempotency key, if it has one.
    pub claim: Option<store::Claim>,
}

impl Ctx {
    pub fn new(house: House, caller: Arc<Caller>) -> Self {
        Self { caller, house, claim: None }
    }

    pub fn now(&self) -> Timestamp {
        self.house.now()
    }

    pub fn audit(&self, action: &'static str, at: Timestamp) -> AuditRecord {
        AuditRecord::new(&self.caller, action, at)
    }
}
