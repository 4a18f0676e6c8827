//! What an agent of a session is told.

use crate::sessions::{Get, SessionRef};
use crate::shared_context;
use crate::{Ctx, Result};
use domain::answers::{Answer, Listing};
use domain::guide;
use domain::requests::Request;

/// The shared-context guide for the caller's participant, with the keys it may see.
pub async fn shared_context_guide(ctx: &Ctx, session: SessionRef) -> Result<String> {
    let found = ctx.house.store().read(Get { caller: ctx.caller.clone(), reference: session.clone() }).await?;
    let listing = match shared_context::execute(ctx, session, Request::ListKeys { prefix: None }).await? {
        Answer::Listing(listing) => listing,
        _ => Listing { keys: Vec::new(), total_size_tokens: 0, max_store_tokens: found.config.max_store_tokens },
    };
    Ok(guide::render(&found, &ctx.caller.participant, &listing))
}
