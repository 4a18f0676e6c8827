//! Keys whose time is over. They are absent from that moment in every answer; this puts their end on record.

use super::scene::Scene;
use crate::{Ctx, Error, Result};
use domain::history::ChangeKind;
use domain::ids::{SessionId, WorkspaceId};
use domain::sessions::Session;
use domain::times::Timestamp;
use store::{Operation, Tx};

/// Ends what has expired in `session`, whose counters follow.
pub(crate) async fn sweep(tx: &mut Tx, session: &mut Session, now: Timestamp) -> Result<()> {
    if !session.has_expired_keys(now) {
        return Ok(());
    }
    let mut scene = Scene::of_house(tx, session.clone(), now);
    let expired = scene.tx.scope(&session.workspace).entries(&session.id).expired(now).await?;
    for entry in &expired {
        let change = scene.remove(entry, ChangeKind::Expired).await?;
        scene.audit("context.expire", |record| {
            record
                .with("key", change.key.as_str())
                .with("written_by", entry.written_by.as_str())
                .with("tokens", entry.tokens)
                .with("version", change.version)
                .with("rev", change.rev)
        });
    }
    scene.session.counters.next_expiry = scene.tx.scope(&session.workspace).entries(&session.id).next_expiry().await?;
    session.counters = scene.session.counters.clone();
    scene.save().await
}

/// Puts on record what has expired in any of these sessions; answers whether there was anything.
pub(crate) async fn settle(ctx: &Ctx, sessions: &[Session]) -> Result<bool> {
    let now = ctx.now();
    let overdue = sessions.iter().filter(|session| session.archived_at.is_none() && session.has_expired_keys(now));
    let mut any = false;
    for session in overdue {
        let sweep = Sweep { workspace: session.workspace.clone(), session: session.id.clone(), now };
        ctx.house.store().write(&session.workspace, sweep).await?;
        any = true;
    }
    Ok(any)
}

/// The sweep of one session as an operation of its own.
pub(crate) struct Sweep {
    pub(crate) workspace: WorkspaceId,
    pub(crate) session: SessionId,
    pub(crate) now: Timestamp,
}

impl Operation for Sweep {
    type Output = ();
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<()> {
        let found = tx.scope(&self.workspace).sessions().get(&self.session).await?;
        match found {
            Some(mut session) if session.require_active().is_ok() => sweep(tx, &mut session, self.now).await,
            _ => Ok(()),
        }
    }
}
