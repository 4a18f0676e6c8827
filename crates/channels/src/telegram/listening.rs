//! How updates arrive: by asking again and again, or at an address that Telegram is told.
//!
//! The number up to which updates are done with moves only after a message was taken: what a crash cuts off is offered
//! again.

use super::Mode;
use super::api::Api;
use super::updates::{self, Heard, Me};
use crate::pauses::Pauses;
use crate::running::Stop;
use crate::states::Health;
use crate::{Error, Receiver, Result, Taken};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const KINDS: [&str; 3] = ["message", "edited_message", "callback_query"];
const UPDATES_MOST: u8 = 100;

pub(super) struct Listening {
    pub(super) api: Arc<Api>,
    pub(super) receiver: Arc<dyn Receiver>,
    pub(super) me: Arc<OnceLock<Me>>,
    pub(super) health: Health,
    pub(super) mode: Mode,
}

impl Listening {
    /// Until it is asked to stop.
    pub(super) async fn run(self, mut stop: Stop) {
        let mut pauses = Pauses::of(&self.api.timing);
        let me = loop {
            match stop.or(self.introduce()).await {
                None => return,
                Some(Ok(me)) => break me,
                Some(Err(error)) => {
                    self.health.failing(error.to_string());
                    if stop.sleep(pauses.after(&error)).await.is_none() {
                        return;
                    }
                }
            }
        };
        let me = self.me.get_or_init(|| me);
        self.health.well();
        match self.mode {
            Mode::Polling => drop(self.poll(me, &mut stop).await),
            Mode::Webhook { .. } => stop.asked().await,
        }
    }

    /// Who we are, and how we want to be told. Also what shows that the token is good.
    async fn introduce(&self) -> Result<Me> {
        let me: Me = self.api.call("getMe", &json!({})).await?;
        match &self.mode {
            Mode::Polling => {}
            Mode::Webhook { url: Some(url), secret } => {
                let wanted = json!({
                    "url": url,
                    "secret_token": secret.reveal(),
                    "allowed_updates": KINDS,
                    // Messages that are brought at the same time have no order.
                    "max_connections": 1,
                });
                self.api.call::<bool>("setWebhook", &wanted).await?;
            }
            Mode::Webhook { url: None, .. } => {}
        }
        Ok(me)
    }

    /// None when it was asked to stop.
    async fn poll(&self, me: &Me, stop: &mut Stop) -> Option<Infallible> {
        let mut pauses = Pauses::of(&self.api.timing);
        let mut offset = None;
        // After a failure nobody should wait for the next message to know that it is over.
        let mut is_well = true;
        loop {
            let poll = if is_well { self.api.timing.poll } else { Duration::ZERO };
            let asked = stop.or(self.ask(offset, poll)).await?;
            is_well = asked.is_ok();
            match asked {
                Ok(updates) => {
                    self.health.well();
                    let before = offset;
                    for update in &updates {
                        let Some(number) = updates::number_of(update) else { continue };
                        self.hand_over(update, me, stop).await?;
                        offset = Some(number.saturating_add(1));
                    }
                    // A provider that does not listen to the number would be asked without a pause.
                    if updates.is_empty() || offset > before {
                        pauses.reset();
                    } else {
                        stop.sleep(pauses.next()).await?;
                    }
                }
                Err(error) => {
                    self.health.failing(error.to_string());
                    if matches!(error, Error::Conflict { .. }) {
                        // By a webhook that was once told, perhaps. If it was somebody else who asks, this does no harm.
                        stop.or(self.forget_webhook()).await?;
                    }
                    stop.sleep(pauses.after(&error)).await?;
                }
            }
        }
    }

    async fn forget_webhook(&self) {
        let forgotten = self.api.call::<bool>("deleteWebhook", &json!({ "drop_pending_updates": false })).await;
        if let Err(error) = forgotten {
            tracing::debug!(%error, "telegram does not forget its webhook");
        }
    }

    async fn ask(&self, offset: Option<i64>, poll: Duration) -> Result<Vec<Box<RawValue>>> {
        let mut wanted = json!({ "timeout": poll.as_secs(), "limit": UPDATES_MOST, "allowed_updates": KINDS });
        if let Some(offset) = offset {
            wanted["offset"] = Value::from(offset);
        }
        self.api.call_within("getUpdates", &wanted, poll + self.api.timing.answer).await
    }

    /// Until it is taken.
    async fn hand_over(&self, update: &RawValue, me: &Me, stop: &mut Stop) -> Option<()> {
        let message = match updates::read(update, me) {
            Heard::Message(message) => message,
            Heard::Nothing(why) => {
                tracing::debug!(why, "an update of telegram is passed over");
                return Some(());
            }
        };
        let mut pauses = Pauses::of(&self.api.timing);
        while self.receiver.receive((*message).clone()).await == Taken::NotNow {
            self.health.failing("the house does not take messages");
            stop.sleep(pauses.next()).await?;
        }
        self.health.well();
        Some(())
    }
}
