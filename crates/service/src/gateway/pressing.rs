//! Buttons under a message: an approval can be answered where the person is, within limits.
//!
//! What a button carries may have been changed on its way: it only names an approval and a wish. Whether the presser may
//! decide it is decided as at every other door, and only the message counts that was written to them about it: what that
//! one showed is what they agree to.

use super::looking::{Asked, Look};
use super::{caller, ctx};
use crate::approvals::{self, Answer};
use crate::{Error, House, Result};
use domain::channels::{ChatType, InboundKind, InboundMessage};
use domain::ids::{ApprovalId, UserId, WorkspaceId};
use domain::notices::{Notice, Told};
use domain::workspaces::{ChannelPlace, Identity};
use std::sync::Arc;
use store::{Operation, Tx};

const APPROVE: &str = "approve:";
const REJECT: &str = "reject:";
const NOT_YOURS: &str = "This is not for you to decide.";
const NOT_HERE: &str = "Not here: buttons count in a direct chat with me.";
const OUT_OF_USE: &str = "This button is out of use.";
const ANOTHER_MESSAGE: &str = "Nothing was done: this is not the message that asks for it. Use the newest one, or \
                               `longhouse approvals`.";
const ELSEWHERE: &str = "This one is decided where all of it is shown: in the console or with `longhouse approvals`.";

/// What a button that answers an approval carries.
pub fn button(approval: &str, approves: bool) -> String {
    format!("{}{approval}", if approves { APPROVE } else { REJECT })
}

/// Takes a pressed button; answers what the presser is told.
pub async fn press(house: &House, message: &InboundMessage) -> Result<String> {
    let InboundKind::Press { data, .. } = &message.kind else { return Ok(NOT_YOURS.to_owned()) };
    if message.chat != ChatType::Direct {
        return Ok(NOT_HERE.to_owned());
    }
    let asked = Asked::of(message);
    let identity = asked.identity();
    // Where the place leads does not matter: what is asked may be of any workspace that the person is in.
    let looked = house.store().read(Look { asked }).await?;
    let (Some(identity), Some(user)) = (identity, looked.user) else { return Ok(NOT_YOURS.to_owned()) };
    let ctx = ctx(house, Arc::new(caller(user)));
    let (id, approves) = match (data.strip_prefix(APPROVE), data.strip_prefix(REJECT)) {
        (Some(id), _) => (id, true),
        (None, Some(id)) => (id, false),
        (None, None) => return Ok(OUT_OF_USE.to_owned()),
    };
    let inquiry = match approvals::get(&ctx, id).await {
        Ok(inquiry) => inquiry,
        Err(Error::Refused(_)) => return Ok(NOT_YOURS.to_owned()),
        Err(error) => return Err(error),
    };
    let (place, message_id) = (message.place.clone(), message.message_id.clone());
    let (workspace, approval, user) = (inquiry.workspace, inquiry.approval.id, ctx.caller.user.clone());
    let find = FindTold { workspace, approval, user, identity, place, message_id };
    let Some(told) = house.store().read(find).await? else { return Ok(ANOTHER_MESSAGE.to_owned()) };
    // A chat shows too little to agree to what is dangerous or long. To say no is always possible.
    if approves && !told.offers_approval {
        return Ok(ELSEWHERE.to_owned());
    }
    let answer = if approves {
        Answer::Approve { digest: Some(told.digest), remember: None }
    } else {
        Answer::Reject { note: None }
    };
    match approvals::decide_by_button(&ctx, id, answer, &message.place.channel).await {
        Ok(_) => Ok(if approves { "Approved." } else { "Rejected." }.to_owned()),
        Err(Error::Refused(refusal)) => Ok(refusal.message),
        Err(error) => Err(error),
    }
}

/// The message about this approval that was written to this account, if it is the one whose button was pressed.
struct FindTold {
    workspace: WorkspaceId,
    approval: ApprovalId,
    user: UserId,
    identity: Identity,
    place: ChannelPlace,
    message_id: String,
}

impl Operation for FindTold {
    type Output = Option<Told>;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Told>> {
        let all = tx.scope(&self.workspace).notices().of(&self.approval).await?;
        let is_it = |notice: &Notice| notice.was_told((&self.user, &self.identity), &self.place, &self.message_id);
        Ok(all.into_iter().find(is_it).and_then(|notice| notice.told))
    }
}
