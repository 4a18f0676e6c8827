//! Telegram: a bot that asks for its updates, or is told them at an address of ours.

mod api;
mod formatting;
mod listening;
mod sending;
mod updates;

use crate::pauses::Timing;
use crate::running::Running;
use crate::states::Health;
use crate::{InvalidOptions, Outlet, Receiver, Secret, State, Taken, wire};
use api::Api;
use listening::Listening;
use sending::Telegraph;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;
use updates::{Heard, Me};

/// The address of the API, unless told otherwise.
const API_BASE: &str = "https://api.telegram.org";
const SECRET_LONGEST: usize = 256;
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct TelegramOptions {
    pub token: Secret,
    pub api_base: Option<String>,
    pub mode: Mode,
    pub timing: Timing,
}

#[derive(Debug, Clone)]
pub enum Mode {
    Polling,
    Webhook {
        secret: Secret,
        /// Where Telegram reaches us, and is told so at the start. Without it the operator has told it.
        url: Option<String>,
    },
}

/// What became of a request to our address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookAnswer {
    /// Needs not be told again.
    Taken,
    /// Should be told again.
    NotNow,
    /// Who asks does not know the secret.
    Forbidden,
}

/// A bot at Telegram. Ends with the value.
pub struct Telegram {
    running: Running,
    state: watch::Receiver<State>,
    telegraph: Arc<Telegraph>,
    receiver: Arc<dyn Receiver>,
    me: Arc<OnceLock<Me>>,
    secret: Option<Secret>,
}

impl Telegram {
    /// Returns at once; how it goes on is in [`Telegram::state`].
    pub fn start(options: TelegramOptions, receiver: Arc<dyn Receiver>) -> Result<Self, InvalidOptions> {
        let secret = check(&options)?;
        let base = wire::base(options.api_base.as_deref().unwrap_or(API_BASE), ["http", "https"])?;
        let client = wire::client(&options.timing, &base)?;
        let api = Arc::new(Api::new(client, &base, options.token, options.timing));
        let (me, health) = (Arc::new(OnceLock::new()), Health::new(updates::CHANNEL));
        let state = health.watch();
        let listening = Listening {
            api: api.clone(),
            receiver: receiver.clone(),
            me: me.clone(),
            health: health.clone(),
            mode: options.mode,
        };
        let running = Running::start(health, |stop| listening.run(stop));
        Ok(Self { running, state, telegraph: Arc::new(Telegraph::new(api)), receiver, me, secret })
    }

    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// The state with its changes.
    pub fn states(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    pub fn outlet(&self) -> Arc<dyn Outlet> {
        self.telegraph.clone()
    }

    /// Whether who posts to our address knows the secret; none if nobody is to post there. Can be asked before a body is read.
    pub fn is_known(&self, secret: Option<&[u8]>) -> Option<bool> {
        self.secret.as_ref().map(|ours| secret.is_some_and(|theirs| ours.is(theirs)))
    }

    /// What arrived at our address: the header `X-Telegram-Bot-Api-Secret-Token`, and the body.
    pub async fn webhook(&self, secret: Option<&[u8]>, body: &[u8]) -> WebhookAnswer {
        if self.is_known(secret) != Some(true) {
            return WebhookAnswer::Forbidden;
        }
        // Right after the start it is known in a moment who we are.
        let mut state = self.state.clone();
        let _ = tokio::time::timeout(KNOWN_WITHIN, state.wait_for(|state| *state != State::Starting)).await;
        let Some(me) = self.me.get() else { return WebhookAnswer::NotNow };
        match updates::read_bytes(body, me) {
            Heard::Message(message) => match self.receiver.receive(*message).await {
                Taken::Durably => WebhookAnswer::Taken,
                Taken::NotNow => WebhookAnswer::NotNow,
            },
            Heard::Nothing(why) => {
                // It would be told again and again, and be no more readable.
                tracing::debug!(why, "an update of telegram is passed over");
                WebhookAnswer::Taken
            }
        }
    }

    /// Ends when everything has ended. A message that is being taken is taken.
    pub async fn stop(&self) {
        self.running.stop().await;
    }
}

/// What the mode needs, if it is all there: the secret of webhooks.
fn check(options: &TelegramOptions) -> Result<Option<Secret>, InvalidOptions> {
    wire::check_token(&options.token)?;
    let Mode::Webhook { secret, url } = &options.mode else { return Ok(None) };
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = secret.reveal().len();
    if !(1..=SECRET_LONGEST).contains(&length) || !secret.reveal().bytes().all(is_allowed) {
        return Err(InvalidOptions::new("the secret of a webhook is 1 to 256 of A-Z, a-z, 0-9, _ and -"));
    }
    if let Some(url) = url {
        wire::base(url, ["http", "https"])?;
    }
    Ok(Some(secret.clone()))
}
