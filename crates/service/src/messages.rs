//! Messages: what people say to agents and what agents answer. Sending one queues a task; the bus does the rest.

mod accepting;
pub(crate) mod kept;
mod waiting;

pub use accepting::{Accepted, SendMessage, send};
pub(crate) use accepting::{Send, Sent, announce, prepare};
pub use waiting::{Finished, wait};

use crate::paging::{Listed, Page};
use crate::sessions::{self, SessionRef};
use crate::{Ctx, Error, Result};
use domain::Refusal;
use domain::callers::{Caller, Credential};
use domain::messages::{Message, ToolUse};
use domain::node_tools::name_for_others;
use domain::sessions::Session;
use std::sync::Arc;
use store::{Operation, Tx};

/// The history of a session, oldest first.
pub async fn history(ctx: &Ctx, session: SessionRef, page: Page) -> Result<Listed<Message>> {
    require_talker(&ctx.caller)?;
    let limit = page.limit()?;
    let after = page.after(1)?.remove(0);
    let unknown = || Refusal::invalid_field("cursor", "`cursor` is not one that this list gave");
    let after = if after.is_empty() { 0 } else { after.parse().map_err(|_| unknown())? };
    let operation = History { caller: ctx.caller.clone(), session, after, limit: limit + 1 };
    let items = ctx.house.store().scan(operation).await?;
    Ok(Listed::cut(items, limit, |message| vec![message.number.to_string()]))
}

/// Talk is for people, and for an agent that was sent into just this session: a token that leads into every session of a
/// project is for their memory, not for what people say there.
pub(crate) fn require_talker(caller: &Caller) -> Result<()> {
    if matches!(caller.credential, Credential::Agent { session: None, .. }) {
        return Err(Refusal::forbidden("messages need a person's token, or an agent's that names this session").into());
    }
    Ok(caller.require_person_or_agent()?)
}

impl History {
    /// What tools were given and what they brought may be somebody's own, or hidden by an access list: it is for the
    /// person whose agent it was, and where keys are hidden from some, for the session's creator alone.
    fn shown(&self, message: Message, session: &Session) -> Message {
        let is_person = matches!(self.caller.credential, Credential::User | Credential::Operator);
        let is_own = message.author.user == self.caller.user;
        let is_open = !session.config.acl || session.created_by == self.caller.user;
        if is_person && is_own && is_open {
            return message;
        }
        let named = |tool: String| if is_own { tool } else { name_for_others(&tool).to_owned() };
        let hidden = |call: ToolUse| ToolUse { tool: named(call.tool), arguments: String::new(), result: None, ..call };
        Message { calls: message.calls.into_iter().map(hidden).collect(), ..message }
    }
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
        let found = tx.scope(&session.workspace).messages(&session.id).after(self.after, self.limit).await?;
        Ok(found.into_iter().map(|message| self.shown(message, &session)).collect())
    }
}
