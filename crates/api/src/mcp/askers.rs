//! Who asks, as the door found out for this very request.

use crate::errors::Result;
use crate::signed::Signed;
use axum::http::request::Parts;
use domain::Refusal;
use domain::callers::Credential;
use rmcp::ErrorData;
use rmcp::model::Extensions;
use serde_json::{Map, Value};
use service::Ctx;
use service::authority::SignedIn;
use service::sessions::SessionRef;
use std::sync::Arc;

/// Travels beside each request; no identity is kept in an MCP session.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) ctx: Ctx,
    pub(super) signed_in: Arc<SignedIn>,
}

impl Asker {
    pub(super) fn admit(signed: Signed) -> Result<Self> {
        let Signed { ctx, signed_in } = signed;
        ctx.caller.require_participant()?;
        Ok(Self { ctx, signed_in })
    }

    /// The asker that the door put beside a request.
    pub(super) fn of(extensions: &Extensions) -> Result<Self, ErrorData> {
        let asker = extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Self>());
        asker.cloned().ok_or_else(|| ErrorData::internal_error("the request came in without a caller", None))
    }

    /// The one session that the credential is for, if it is for one.
    pub(super) fn own_session(&self) -> Option<SessionRef> {
        let (workspace, session) = match &self.ctx.caller.credential {
            Credential::Session { workspace, session } => (workspace, session),
            Credential::Agent { agent, session: Some(session) } => (&agent.workspace, session),
            _ => return None,
        };
        Some(SessionRef { id: session.clone(), workspace: Some(workspace.as_str().to_owned()) })
    }

    /// Whether the credential is for an agent, which then has items.
    pub(super) fn is_agent(&self) -> bool {
        matches!(self.ctx.caller.credential, Credential::Agent { .. })
    }

    /// The session that arguments name, taken out of them; the credential's own where they name none.
    pub(super) fn session_named_in(&self, arguments: &mut Map<String, Value>) -> service::Result<SessionRef> {
        let session = text(arguments, "session")?;
        let workspace = text(arguments, "workspace")?;
        match (session, self.own_session()) {
            (Some(session), _) => SessionRef::parse(&session, workspace),
            (None, Some(own)) => Ok(SessionRef { workspace: workspace.or(own.workspace), ..own }),
            (None, None) => Err(Refusal::invalid_field(
                "session",
                "`session` is missing: your credential is for no session, so say which one is meant",
            )
            .into()),
        }
    }
}

/// A text that arguments name, taken out of them.
pub(super) fn text(arguments: &mut Map<String, Value>, name: &str) -> service::Result<Option<String>> {
    match arguments.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Refusal::invalid_field(name, format!("`{name}` must be text")).into()),
    }
}
