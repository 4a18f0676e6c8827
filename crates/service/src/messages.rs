//! Messages: what people say to agents and what agents answer. Sending one queues a task; the bus does the rest.

mod accepting;
pub(crate) mod kept;
mod waiting;

pub use accepting::{Accepted, SendMessage, send};
pub use waiting::{Finished, wait};

use crate::paging::{Listed, Page};
use crate::sessions::{self, SessionRef};
use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::callers::Caller;
use domain::messages::Message;
use std::sync::Arc;
use store::{Operation, Tx};

/// The history of a session, oldest first.
pub async fn history(ctx: &Ctx, session: SessionRef, page: Page) -> Result<Listed<Message>> {
    ctx.caller.require_person_or_agent()?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let unknown = || Refusal::invalid_field("cursor", "`cursor` is not one that this list gave");
    let after = if after.is_empty() { 0 } else { after.parse().map_err(|_| unknown())? };
    let operation = History { caller: ctx.caller.clone(), session, after, limit: limit + 1 };
    let items = ctx.house.store().scan(operation).await?;
    Ok(Listed::cut(items, limit, |message| vec![message.number.to_string()]))
}

struct History {
    caller: Arc<Caller>,
    session: SessionRef,
    after: u64,
    limit: u64,
}

impl Operation for History {
    type Output = Vec<Message>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Message>> {
        let session = sessions::find(tx, &self.caller, &self.session).await?;
        Ok(tx.scope(&session.workspace).messages(&session.id).after(self.after, self.limit).await?)
    }
}
