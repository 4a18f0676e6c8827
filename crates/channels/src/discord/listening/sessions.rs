//! One run of the library's connection, through any number of resumed sessions.

use super::Introduction;
use crate::discord::api::Api;
use crate::discord::events;
use crate::pauses::Pauses;
use crate::running::Stop;
use crate::states::Health;
use domain::channels::InboundMessage;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::ready;
use tokio::sync::mpsc;
use tokio::time::Sleep;
use twilight_gateway::error::ReceiveMessageError;
use twilight_gateway::{ConfigBuilder, Message, Shard, ShardId, ShardState};
use twilight_model::gateway::Intents;

/// How often the library may have something to do until it is connected: some times the name, the connection, its
/// encryption and the protocol on it.
const TURNS_MOST: usize = 50;

/// How a run ended, if nobody asked for it.
pub(super) enum Ended {
    /// Discord wants no other connection like this one.
    ForGood,
    Suddenly,
}

pub(super) struct Session {
    shard: Shard,
    me: String,
    health: Health,
    pauses: Pauses,
    line: mpsc::Sender<InboundMessage>,
}

#[derive(Deserialize)]
struct Frame<'f> {
    #[serde(borrow)]
    t: Option<&'f str>,
    #[serde(borrow)]
    d: Option<&'f RawValue>,
}

impl Session {
    pub(super) fn new(
        api: &Api,
        introduction: Introduction,
        health: Health,
        line: mpsc::Sender<InboundMessage>,
    ) -> Self {
        let intents = Intents::GUILD_MESSAGES | Intents::DIRECT_MESSAGES | Intents::MESSAGE_CONTENT;
        let config = ConfigBuilder::new(api.token.reveal().to_owned(), intents)
            .proxy_url(introduction.gateway_url)
            .queue(introduction.queue)
            .build();
        let shard = Shard::with_config(ShardId::ONE, config);
        Self { shard, me: introduction.me, health, pauses: Pauses::of(&api.timing), line }
    }

    /// None if it was asked to stop.
    pub(super) async fn run(mut self, mut stop: Stop) -> Option<Ended> {
        let mut closed_with = None;
        loop {
            match stop.or(self.next()).await? {
                Some(Ok(Message::Text(text))) => stop.or(self.hear(&text)).await?,
                Some(Ok(Message::Close(frame))) => {
                    closed_with = frame.as_ref().map(|frame| frame.code);
                    // The library connects again at once; whoever is being refused should not be asked so often.
                    self.health.failing(why_closed(closed_with));
                    stop.sleep(self.pauses.next()).await?;
                }
                Some(Err(_)) => {
                    // Its words may hold what was received. It waits by itself before it connects again.
                    self.health.failing("the gateway cannot be reached or understood");
                    stop.sleep(self.pauses.next()).await?;
                }
                None => {
                    self.health.failing(why_closed(closed_with));
                    return Some(Ended::ForGood);
                }
            }
        }
    }

    /// To a gateway that hangs up without a word the library connects again at once, for ever, and tells nobody. It is
    /// then asked to go on only after pauses.
    async fn next(&mut self) -> Option<Result<Message, ReceiveMessageError>> {
        let (shard, health, pauses) = (&mut self.shard, &self.health, &mut self.pauses);
        let mut turns = 0;
        let mut pause: Option<Pin<Box<Sleep>>> = None;
        poll_fn(move |context| {
            if let Some(pause) = &mut pause {
                ready!(pause.as_mut().poll(context));
            }
            pause = None;
            let polled = shard.poll_next_unpin(context);
            if polled.is_pending() && matches!(shard.state(), ShardState::Disconnected { .. }) {
                turns += 1;
                if turns > TURNS_MOST {
                    health.failing("the gateway hangs up");
                    let mut begun = Box::pin(tokio::time::sleep(pauses.next()));
                    // Tells the timer whom to wake.
                    let _ = begun.as_mut().poll(context);
                    pause = Some(begun);
                }
            }
            polled
        })
        .await
    }

    async fn hear(&mut self, text: &str) {
        let Ok(Frame { t: Some(name), d: Some(event) }) = serde_json::from_str::<Frame<'_>>(text) else { return };
        if matches!(name, "READY" | "RESUMED") {
            self.pauses.reset();
            self.health.well();
        }
        match events::read(name, event, &self.me) {
            // An error says that nobody takes anything any more, because everything ends.
            Ok(message) => drop(self.line.send(message).await),
            Err(why) => tracing::debug!(why, "an event of discord is passed over"),
        }
    }
}

/// The codes that an operator can do something about, in words.
fn why_closed(code: Option<u16>) -> &'static str {
    match code {
        Some(4004) => "Discord does not accept the bot's token",
        Some(4013 | 4014) => {
            "Discord does not let this bot read messages: allow it the message content intent in the developer portal"
        }
        Some(4011) => "the bot is in more guilds than one connection may serve",
        _ => "the gateway closed the connection",
    }
}
