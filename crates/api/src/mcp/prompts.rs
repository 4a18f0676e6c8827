//! The prompts: what an agent is told about the memory it shares.

use super::answers::protocol_error;
use super::askers::Asker;
use domain::Refusal;
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};
use service::prompts;

const GUIDE: &str = "shared_context_guide";
const ABOUT: &str = "How to use this session's shared context: its keys, when to write, what to read first.";

pub(super) fn visible_to(asker: &Asker) -> Vec<Prompt> {
    let has_own = asker.own_session().is_some();
    let session = PromptArgument::new("session")
        .with_description(if has_own { "The session's id; yours if left out." } else { "The session's id." })
        .with_required(!has_own);
    let workspace = PromptArgument::new("workspace")
        .with_description("The session's workspace, where several sessions have that id.")
        .with_required(false);
    vec![Prompt::new(GUIDE, Some(ABOUT), Some(vec![session, workspace])).with_title("Shared context guide")]
}

pub(super) async fn get(
    asker: &Asker,
    name: &str,
    mut arguments: Map<String, Value>,
) -> Result<GetPromptResult, ErrorData> {
    if name != GUIDE {
        return Err(ErrorData::invalid_params("there is no prompt of that name", None));
    }
    let session = asker.session_named_in(&mut arguments).map_err(protocol_error)?;
    if let Some(unknown) = arguments.keys().next() {
        let shown: String = unknown.chars().take(64).collect();
        let refusal = Refusal::invalid_field(&shown, format!("`{GUIDE}` has no argument `{shown}`"));
        return Err(protocol_error(refusal.into()));
    }
    let text = prompts::shared_context_guide(&asker.ctx, session).await.map_err(protocol_error)?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(ABOUT))
}
