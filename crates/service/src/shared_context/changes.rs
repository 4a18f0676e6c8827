//! The frame of every change to a shared context: find the session, end what has expired, act, save the counters.

use super::expiry;
use super::scene::Scene;
use crate::sessions::{self, SessionRef};
use crate::{Error, Result};
use domain::callers::Caller;
use domain::times::Timestamp;
use std::future::Future;
use std::sync::Arc;
use store::{Operation, Tx};

/// What is done inside the frame.
pub(super) trait Action: Send + Sync + 'static {
    type Output: Send + 'static;

    fn is_small(&self) -> bool {
        false
    }

    fn apply(&self, scene: &mut Scene<'_>) -> impl Future<Output = Result<Self::Output>> + Send;
}

pub(super) struct Change<A> {
    pub(super) caller: Arc<Caller>,
    pub(super) session: SessionRef,
    pub(super) now: Timestamp,
    pub(super) action: A,
}

impl<A: Action> Operation for Change<A> {
    type Output = A::Output;
    type Error = Error;

    fn is_small(&self) -> bool {
        self.action.is_small()
    }

    async fn run(&self, tx: &mut Tx) -> Result<A::Output> {
        let mut session = sessions::find(tx, &self.caller, &self.session).await?;
        if session.require_active().is_ok() {
            expiry::sweep(tx, &mut session, self.now).await?;
        }
        let mut scene = Scene::new(tx, session, &self.caller, self.now);
        let output = self.action.apply(&mut scene).await?;
        scene.save().await?;
        Ok(output)
    }
}
