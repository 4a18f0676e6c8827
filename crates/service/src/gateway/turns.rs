//! The turn that a message begins: its session, and the message with its task, by the operation of every other door.

use super::ctx;
use crate::messages::{self, SendMessage, Sent};
use crate::projects::home;
use crate::sessions::{self, CreateSession, SessionRef};
use crate::{Error, House, Result};
use domain::Refusal;
use domain::callers::Caller;
use domain::channels::{InboundKind, InboundMessage};
use domain::ids::{SessionId, WorkspaceId};
use domain::projects::HOME;
use domain::routing::{Route, answerer};
use domain::tasks::Priority;
use domain::times::Timestamp;
use std::sync::Arc;
use store::{Operation, Tx};

/// What a message that is routed needs.
pub(super) struct Routed {
    pub(super) caller: Arc<Caller>,
    pub(super) create: sessions::Create,
    /// None for a command, and for what has no words.
    pub(super) send: Option<messages::Send>,
}

impl Routed {
    pub(super) async fn prepare(
        house: &House,
        message: &InboundMessage,
        route: &Route,
        caller: Caller,
    ) -> Result<Self> {
        let ctx = ctx(house, Arc::new(caller));
        let input = CreateSession {
            project: Some(HOME.to_owned()),
            workspace: Some(route.workspace.as_str().to_owned()),
            title: Some(title(message)),
            ..CreateSession::default()
        };
        let create = sessions::prepare(&ctx, input).await?;
        let has_words = matches!(message.kind, InboundKind::Message(None)) && !message.text.trim().is_empty();
        let send = if has_words {
            let input =
                SendMessage { content: message.text.clone(), target_agent: None, priority: Priority::default() };
            // Which session and which agent is settled in the transaction.
            let session = SessionRef { id: create.id().clone(), workspace: None };
            Some(messages::prepare(&ctx, session, input).await?)
        } else {
            None
        };
        Ok(Self { caller: ctx.caller, create, send })
    }
}

fn title(message: &InboundMessage) -> String {
    let place = message.place.as_key();
    place.chars().take(80).collect()
}

/// The session, if need be, and the message with its task: all of it, or nothing.
pub(super) struct Turn {
    pub(super) routed: Arc<Routed>,
    pub(super) route: Route,
    pub(super) place: String,
    pub(super) now: Timestamp,
}

impl Operation for Turn {
    type Output = Sent;
    type Error = Error;

    async fn run(&self, tx: &mut Tx) -> Result<Sent> {
        let (workspace, Some(send)) = (&self.route.workspace, &self.routed.send) else {
            return Err(store::Error::BadOperation("a turn without words").into());
        };
        let session = match &self.route.session {
            Some(session) => session.clone(),
            None => begin(tx, &self.routed.create, workspace, &self.place, self.now).await?,
        };
        let home = home::find(tx, workspace).await?.ok_or_else(Refusal::project_not_found)?;
        let agents = tx.scope(workspace).agents(&home.id).all().await?;
        let agent = answerer(&agents).ok_or_else(Refusal::agent_not_found)?;
        let reference = SessionRef { id: session, workspace: Some(workspace.as_str().to_owned()) };
        send.clone().to(reference, &agent.id).run(tx).await
    }
}

/// Makes the place's session.
pub(super) async fn begin(
    tx: &mut Tx,
    create: &sessions::Create,
    workspace: &WorkspaceId,
    place: &str,
    now: Timestamp,
) -> Result<SessionId> {
    let session = create.run(tx).await?;
    tx.scope(workspace).place_sessions().put(place, &session.id, now).await?;
    Ok(session.id)
}
