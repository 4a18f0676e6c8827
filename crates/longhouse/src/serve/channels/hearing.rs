//! What bots hear, handed to the gateway, and what the house says to it at once. Answers of agents leave later, from rows.

use super::RunningChannels;
use channels::{Receiver, Taken};
use domain::channels::{CallbackId, InboundKind, InboundMessage, OutboundMessage};
use service::gateway::{self, Boxed, Door, Received, Stage};
use service::{Error, House};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much the house says of its own at once for one bot. Who writes without end is not answered without end.
const SAID_AT_ONCE: usize = 64;
/// A turn that is over sooner needs no sign that it is under way.
const TYPING_AFTER: Duration = Duration::from_millis(700);
/// Providers show the sign for five seconds and more.
const TYPING_EVERY: Duration = Duration::from_secs(4);

/// What one bot hears with.
pub(super) struct Ear(Arc<Hearing>);

struct Hearing {
    house: House,
    running: RunningChannels,
    channel: &'static str,
    voices: Arc<Semaphore>,
}

impl Ear {
    pub(super) fn new(house: House, running: RunningChannels, channel: &'static str) -> Self {
        Self(Arc::new(Hearing { house, running, channel, voices: Arc::new(Semaphore::new(SAID_AT_ONCE)) }))
    }
}

impl Receiver for Ear {
    fn receive(&self, message: InboundMessage) -> Boxed<'_, Taken> {
        let hearing = self.0.clone();
        Box::pin(async move {
            match message.kind.clone() {
                InboundKind::Press { callback, .. } => hearing.pressed(message, callback).await,
                InboundKind::Message(_) | InboundKind::Edit => hearing.heard(message).await,
            }
        })
    }
}

impl Hearing {
    async fn heard(self: Arc<Self>, message: InboundMessage) -> Taken {
        let received = match gateway::receive(&self.house, message.clone(), Door::Outlet).await {
            Ok(received) => received,
            Err(error) if gateway::is_for_later(&error) => return self.not_now(&error),
            // It was routed, so whoever wrote may know why nothing comes of it.
            Err(error) => Received { say: Some(error.to_string()), ..Received::default() },
        };
        if let Some(say) = received.say.clone() {
            self.clone().say(OutboundMessage::answering(&message, say));
        }
        let is_new = received.routing.as_ref().is_some_and(|routing| routing.decision.is_ok());
        if let Some(taken) = received.taken.filter(|taken| is_new && taken.turn.is_some()) {
            self.show_typing(message, taken);
        }
        Taken::Durably
    }

    async fn pressed(self: Arc<Self>, message: InboundMessage, callback: CallbackId) -> Taken {
        let answer = match gateway::press(&self.house, &message).await {
            Ok(answer) => answer,
            Err(error) if gateway::is_for_later(&error) => return self.not_now(&error),
            Err(error) => error.to_string(),
        };
        let Some(voice) = self.voice() else { return Taken::Durably };
        tokio::spawn(async move {
            if let Ok(outlet) = self.running.outlet(self.channel)
                && let Err(error) = outlet.answer_press(&callback, &answer).await
            {
                tracing::debug!(channel = self.channel, %error, "who pressed a button was not told what came of it");
            }
            drop(voice);
        });
        Taken::Durably
    }

    fn not_now(&self, error: &Error) -> Taken {
        tracing::warn!(channel = self.channel, %error, "a message cannot be taken now; it is offered again");
        Taken::NotNow
    }

    /// None while too much is being said already.
    fn voice(&self) -> Option<OwnedSemaphorePermit> {
        self.voices.clone().try_acquire_owned().ok()
    }

    /// The house's own words, at most once. Nobody waits for a provider meanwhile.
    fn say(self: Arc<Self>, message: OutboundMessage) {
        let Some(voice) = self.voice() else { return };
        tokio::spawn(async move {
            if let Ok(outlet) = self.running.outlet(self.channel)
                && let Err(error) = outlet.send(&message).await
            {
                tracing::warn!(channel = self.channel, %error, "the house could not say something");
            }
            drop(voice);
        });
    }

    /// Shows in the place that somebody is at it, for as long as the turn takes.
    fn show_typing(self: Arc<Self>, message: InboundMessage, taken: gateway::Taken) {
        tokio::spawn(async move {
            tokio::time::sleep(TYPING_AFTER).await;
            loop {
                let stage = gateway::stage(&self.house, &message, &taken).await.unwrap_or(Stage::Over);
                let outlet = self.running.outlet(self.channel);
                match (stage, outlet) {
                    (Stage::Over, _) | (_, Err(_)) => return,
                    (Stage::Waiting, Ok(_)) => {}
                    // A sign that is not shown is no loss.
                    (Stage::AtWork, Ok(outlet)) => {
                        drop(outlet.typing(&message.place, message.thread_id.as_deref()).await);
                    }
                }
                tokio::time::sleep(TYPING_EVERY).await;
            }
        });
    }
}
