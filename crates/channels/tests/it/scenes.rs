//! A channel between an imitation and somebody who keeps what arrives.

use domain::channels::InboundMessage;
use domain::workspaces::ChannelPlace;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use longhouse_channels::{
    Discord, DiscordOptions, Mode, Receiver, Secret, State, Taken, Telegram, TelegramOptions, Timing,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::{ImitatedDiscord, ImitatedTelegram};
use tokio::sync::watch;

const PATIENCE: Duration = Duration::from_secs(20);

/// Keeps every message that is offered, also those that it does not take.
#[derive(Default)]
pub(crate) struct Inbox {
    messages: watch::Sender<Vec<InboundMessage>>,
    is_closed: AtomicBool,
}

impl Inbox {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// From now on nothing is taken, or everything again.
    pub(crate) fn close(&self, is_closed: bool) {
        self.is_closed.store(is_closed, Ordering::SeqCst);
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.messages.borrow().iter().map(|message| message.text.clone()).collect()
    }

    /// Waits until this many were offered.
    pub(crate) async fn until(&self, count: usize) -> Vec<InboundMessage> {
        let mut messages = self.messages.subscribe();
        let waiting = tokio::time::timeout(PATIENCE, messages.wait_for(|all| all.len() >= count)).await;
        waiting.expect("that many messages in good time").unwrap().clone()
    }
}

impl Receiver for Inbox {
    fn receive(&self, message: InboundMessage) -> BoxFuture<'_, Taken> {
        async move {
            // Decided before anybody hears of it, so that a test which reopens the inbox knows what was said before.
            let taken = if self.is_closed.load(Ordering::SeqCst) { Taken::NotNow } else { Taken::Durably };
            self.messages.send_modify(|messages| messages.push(message));
            taken
        }
        .boxed()
    }
}

pub(crate) fn quick() -> Timing {
    Timing {
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(5),
        poll: Duration::from_secs(5),
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(100),
        patience: Duration::from_secs(2),
    }
}

pub(crate) fn telegram_options(imitation: &ImitatedTelegram) -> TelegramOptions {
    TelegramOptions {
        token: Secret::new(ImitatedTelegram::TOKEN),
        api_base: Some(imitation.api_base()),
        mode: Mode::Polling,
        timing: quick(),
    }
}

pub(crate) fn telegram(imitation: &ImitatedTelegram, inbox: &Arc<Inbox>) -> Telegram {
    Telegram::start(telegram_options(imitation), inbox.clone()).unwrap()
}

pub(crate) fn discord_options(imitation: &ImitatedDiscord) -> DiscordOptions {
    DiscordOptions {
        token: Secret::new(ImitatedDiscord::TOKEN),
        api_base: Some(imitation.api_base()),
        gateway_url: None,
        timing: quick(),
    }
}

pub(crate) fn discord(imitation: &ImitatedDiscord, inbox: &Arc<Inbox>) -> Discord {
    Discord::start(discord_options(imitation), inbox.clone()).unwrap()
}

pub(crate) async fn until(mut states: watch::Receiver<State>, is_so: impl Fn(&State) -> bool) -> State {
    let waiting = tokio::time::timeout(PATIENCE, states.wait_for(is_so)).await;
    waiting.expect("that state in good time").unwrap().clone()
}

pub(crate) async fn until_connected(states: watch::Receiver<State>) {
    until(states, |state| *state == State::Connected).await;
}

/// Why it is failing.
pub(crate) async fn until_failing(states: watch::Receiver<State>, words: &str) -> String {
    let is_so = |state: &State| matches!(state, State::Failing { why } if why.contains(words));
    let State::Failing { why } = until(states, is_so).await else { unreachable!() };
    why
}

pub(crate) fn chat(id: i64) -> ChannelPlace {
    ChannelPlace { channel: "telegram".to_owned(), chat_id: Some(id.to_string()), guild_id: None, channel_id: None }
}

pub(crate) fn guild_channel(guild: &str, channel: &str) -> ChannelPlace {
    ChannelPlace {
        channel: "discord".to_owned(),
        chat_id: None,
        guild_id: Some(guild.to_owned()),
        channel_id: Some(channel.to_owned()),
    }
}
