//! What can be typed for an argument: the ids of sessions that the caller can see.

use super::answers::protocol_error;
use super::askers::Asker;
use rmcp::ErrorData;
use rmcp::model::{ArgumentInfo, CompletionInfo};
use service::paging::Page;
use service::sessions;

/// For any other argument there is nothing to propose.
pub(super) async fn propose(asker: &Asker, argument: &ArgumentInfo) -> Result<CompletionInfo, ErrorData> {
    let known = if argument.name == "session" { session_ids(asker).await? } else { Vec::new() };
    let fitting = known.into_iter().filter(|id| id.starts_with(&argument.value));
    let values = fitting.take(CompletionInfo::MAX_VALUES).collect();
    CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))
}

async fn session_ids(asker: &Asker) -> Result<Vec<String>, ErrorData> {
    // A token for sessions or agents knows its own, if it is for one; only a person has a list.
    if let Some(own) = asker.own_session() {
        return Ok(vec![own.id.as_str().to_owned()]);
    }
    if asker.ctx.caller.require_person().is_err() {
        return Ok(Vec::new());
    }
    let listed =
        sessions::list(&asker.ctx, None, Page { limit: Some(500), cursor: None }).await.map_err(protocol_error)?;
    Ok(listed.items.iter().map(|session| session.id.as_str().to_owned()).collect())
}
