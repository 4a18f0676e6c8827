//! What an agent of a session is told.

use crate::sessions::SessionRef;
use crate::shared_context;
use crate::{Ctx, Result};
use domain::guide;

/// The shared-context guide for the caller's participant, with the keys it may see.
pub async fn shared_context_guide(ctx: &Ctx, session: SessionRef) -> Result<String> {
    let (found, listing) = shared_context::keys_of(ctx, session).await?;
    Ok(guide::render(&found, &ctx.caller.participant, &listing))
}
