//! What people ask of the house and not of an agent: `/new`, `/stop`, `/help`.

use super::turns::begin;
use crate::tasks::transitions::{self, Mover};
use crate::{Result, sessions};
use domain::callers::Caller;
use domain::channels::ChatCommand;
use domain::ids::SessionId;
use domain::routing::Route;
use domain::tasks::Task;
use domain::times::Timestamp;
use store::Tx;

const HELP: &str = "Write, and an agent of this workspace answers; in a group, mention me or reply to me.\n\
                    /new starts a fresh session\n/stop cancels what is being worked on\n/help shows this";

pub(super) struct Outcome {
    pub(super) session: Option<SessionId>,
    pub(super) say: String,
    pub(super) stopped: Vec<Task>,
}

impl Outcome {
    fn said(session: Option<SessionId>, say: &str) -> Self {
        Self { session, say: say.to_owned(), stopped: Vec::new() }
    }
}

pub(super) async fn run(
    tx: &mut Tx,
    caller: &Caller,
    create: &sessions::Create,
    (route, place): (&Route, &str),
    command: ChatCommand,
    now: Timestamp,
) -> Result<Outcome> {
    match command {
        ChatCommand::Help => Ok(Outcome::said(route.session.clone(), HELP)),
        ChatCommand::New => {
            let session = begin(tx, create, &route.workspace, place, now).await?;
            Ok(Outcome::said(Some(session), "A fresh session: what was said before is not looked at any more."))
        }
        ChatCommand::Stop => stop(tx, caller, route, now).await,
    }
}

/// Cancels what the place's session has under way. As at every door, a member may: they stop what runs away.
async fn stop(tx: &mut Tx, caller: &Caller, route: &Route, now: Timestamp) -> Result<Outcome> {
    let nothing = || Outcome::said(route.session.clone(), "There is nothing to stop.");
    let Some(session) = &route.session else { return Ok(nothing()) };
    let open = tx.scope(&route.workspace).tasks().open_of_session(session).await?;
    if open.is_empty() {
        return Ok(nothing());
    }
    let why = format!("cancelled by {}", caller.user);
    let mut stopped = Vec::with_capacity(open.len());
    for task in open {
        transitions::cancel(tx, &route.workspace, &task, &why, Mover::Caller(caller), now).await?;
        stopped.push(task);
    }
    let say = if stopped.len() == 1 { "Stopped.".to_owned() } else { format!("Stopped {}.", stopped.len()) };
    Ok(Outcome { session: route.session.clone(), say, stopped })
}
