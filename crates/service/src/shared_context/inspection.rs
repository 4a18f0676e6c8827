//! The whole content of a session, access lists or not, for its owner and for admins. Looking is written down.

use crate::sessions::{self, SessionRef};
use crate::{Ctx, Error, Result};
use domain::audit::AuditRecord;
use domain::callers::Caller;
use domain::entries::Entry;
use domain::sessions::Session;
use domain::snapshots::Snapshot;
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, Tx};

pub struct Inspected {
    pub session: Session,
    pub entries: Vec<Entry>,
    pub snapshots: Vec<Snapshot>,
}

pub async fn inspect(ctx: &Ctx, session: SessionRef) -> Result<Inspected> {
    ctx.caller.require_person()?;
    let turn = session.turn(&ctx.caller);
    let operation = Record { caller: ctx.caller.clone(), session, now: ctx.now() };
    let session = ctx.house.store().write(&turn, operation).await?;
    ctx.house.store().scan(Inspect { session, now: ctx.now() }).await
}

/// Writes down that somebody looks, before they do.
struct Record {
    caller: Arc<Caller>,
    session: SessionRef,
    now: Timestamp,
}

impl Operation for Record {
    type Output = Session;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Session> {
        let mut session = sessions::find_for_inspection(tx, &self.caller, &self.session).await?;
        if session.archived_at.is_none() {
            super::expiry::sweep(tx, &mut session, self.now).await?;
        }
        let record = AuditRecord::new(&self.caller, "context.inspect", self.now).in_session(&session.id);
        tx.scope(&session.workspace).audit().append(record);
        Ok(session)
    }
}

struct Inspect {
    session: Session,
    now: Timestamp,
}

impl Operation for Inspect {
    type Output = Inspected;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Inspected> {
        let session = self.session.clone();
        let now = session.expiry_time(self.now);
        let mut entries = tx.scope(&session.workspace).entries(&session.id).all().await?;
        entries.retain(|entry| entry.is_live(now));
        let snapshots = tx.scope(&session.workspace).snapshots(&session.id).all().await?;
        Ok(Inspected { session, entries, snapshots })
    }
}
