//! The gateway: messages of channels become turns in the right workspace, as the person who sent them, exactly once.
//!
//! `receive` is one transaction: whether the message was taken before, who sent it, where the place belongs, whether they
//! are a member, the place's session, the message with its task (by the operation that every other door uses), the
//! answer that is owed, and the record of it all. A provider that tells a message again, at once or after a crash, finds
//! it taken. Nothing here knows a provider: adapters turn what they hear into `InboundMessage`, and answers leave through
//! an `Outlet`.

mod answering;
mod asking;
mod commands;
mod delivering;
mod figures;
mod lines;
mod looking;
mod outlets;
mod pairing;
mod posting;
mod pressing;
mod receiving;
mod turns;

pub use answering::{Stage, answer, stage};
pub use asking::{ask_people, ask_people_once};
pub use delivering::{InTrouble, deliver, deliver_once, in_trouble};
pub use figures::{Figures, HEARD};
pub use looking::{Asked, Explained, explain};
pub use outlets::{
    Boxed, CHANNEL_STATES, ChannelHost, ListedChannel, Outlet, SendFailed, Sending, WebhookAnswer, channel_states,
    is_telegram, list_channels, telegram_posts,
};
pub(crate) use outlets::{Channels, check};
pub use pairing::{Approved, WaitingSender, approve, pairings, reject};
pub use posting::{PostMessage, post};
pub use pressing::{button, press};
pub use receiving::{is_for_later, receive};

use crate::messages::Accepted;
use crate::{Ctx, House};
use domain::callers::{Caller, Credential};
use domain::ids::{SessionId, UserId, WorkspaceId};
use domain::participants::Participant;
use domain::routing::Routing;
use domain::times::Timestamp;
use domain::users::User;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// By which way the answer leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Whoever brought the message waits for the answer, or asks again.
    Waiting,
    /// It is owed to the place, and sent through an outlet.
    Outlet,
}

/// What became of a message that was taken. Kept, so that the same message finds it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    pub user: UserId,
    pub workspace: WorkspaceId,
    pub session: Option<SessionId>,
    /// The turn that it began; a command begins none.
    pub turn: Option<Accepted>,
    /// The provider's id of whoever sent it.
    sender: String,
}

/// What was done about a message.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// None: it was not for the bot, or not a new message.
    pub routing: Option<Routing>,
    /// Of a duplicate: what was taken the first time.
    pub taken: Option<Taken>,
    /// The house's own words for whoever sent it. Where nothing is to be said, nothing is here.
    pub say: Option<String>,
    /// By which an admin may let an unknown sender in.
    pub pairing_code: Option<String>,
}

/// The person who sent a message, as its turn's caller.
fn caller(user: User) -> Caller {
    let participant = Participant::of_user(&user.id);
    Caller { user: user.id, role: user.role, participant, credential: Credential::User }
}

fn ctx(house: &House, caller: Arc<Caller>) -> Ctx {
    Ctx { caller, house: house.clone(), token: None, claim: None }
}

/// How many refusals of strangers are put on record in a minute: whoever finds the bot can write to it all day.
const RECORDED_MOST: u64 = 120;
const MINUTE_MS: i64 = 60_000;

/// What a house remembers of strangers.
#[derive(Default)]
pub(crate) struct Strangers(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    begun_at: Option<Timestamp>,
    recorded: u64,
    passed_over: u64,
}

impl Strangers {
    /// Whether one more refusal is put on record, and how many were not since the last that was.
    fn record(&self, now: Timestamp) -> Option<u64> {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.begun_at.is_none_or(|at| now >= at.plus_ms(MINUTE_MS) || now < at) {
            (minute.begun_at, minute.recorded) = (Some(now), 0);
        }
        if minute.recorded >= RECORDED_MOST {
            minute.passed_over += 1;
            return None;
        }
        minute.recorded += 1;
        Some(std::mem::take(&mut minute.passed_over))
    }
}
