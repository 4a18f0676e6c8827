//! Buttons under a message: an approval can be answered where the person is, within limits.
//!
//! What a button carries may have been changed on its way: it only names an approval and a wish. Whether the presser may
//! decide it is decided as at every other door.

use super::looking::{Asked, Look};
use super::{caller, ctx};
use crate::approvals::{self, Answer};
use crate::{Error, House, Result};
use domain::channels::{InboundKind, InboundMessage};
use domain::node_tools::NodeTool;
use domain::tool_calls::Risk;
use std::sync::Arc;

const APPROVE: &str = "approve:";
const REJECT: &str = "reject:";
const NOT_YOURS: &str = "This is not for you to decide.";

/// What a button that answers an approval carries.
pub fn button(approval: &str, approves: bool) -> String {
    format!("{}{approval}", if approves { APPROVE } else { REJECT })
}

/// Takes a pressed button; answers what the presser is told.
pub async fn press(house: &House, message: &InboundMessage) -> Result<String> {
    let InboundKind::Press { data, .. } = &message.kind else { return Ok(NOT_YOURS.to_owned()) };
    let looked = house.store().read(Look { asked: Asked::of(message) }).await?;
    let (Ok(route), Some(user)) = (&looked.routing.decision, looked.user) else { return Ok(NOT_YOURS.to_owned()) };
    let ctx = ctx(house, Arc::new(caller(user)));
    let (id, approves) = match (data.strip_prefix(APPROVE), data.strip_prefix(REJECT)) {
        (Some(id), _) => (id, true),
        (None, Some(id)) => (id, false),
        (None, None) => return Ok("This button is out of use.".to_owned()),
    };
    let inquiry = match approvals::get(&ctx, id).await {
        Ok(inquiry) if inquiry.workspace == route.workspace => inquiry,
        Ok(_) | Err(Error::Refused(_)) => return Ok(NOT_YOURS.to_owned()),
        Err(error) => return Err(error),
    };
    let is_command = NodeTool::parse(&inquiry.call.wish.tool).is_none_or(NodeTool::is_command);
    let is_medium = inquiry.call.judgement.as_ref().is_some_and(|judgement| judgement.risk != Risk::High);
    // A chat shows too little to agree to what is dangerous. To say no is always possible.
    if approves && (is_command || !is_medium) {
        return Ok("This one is decided where all of it is shown: in the console or with `longhouse approvals`.".into());
    }
    let answer = if approves {
        // What was looked at here is what is approved: if it moves meanwhile, it is not.
        Answer::Approve { digest: Some(inquiry.approval.digest.clone()), remember: None }
    } else {
        Answer::Reject { note: None }
    };
    match approvals::decide(&ctx, None, id, answer).await {
        Ok(_) => Ok(if approves { "Approved." } else { "Rejected." }.to_owned()),
        Err(Error::Refused(refusal)) => Ok(refusal.message),
        Err(error) => Err(error),
    }
}
