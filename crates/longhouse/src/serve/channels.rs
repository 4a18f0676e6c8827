//! The channels of a running server: bots that are connected as the file says, and changed with it. What they hear goes to the
//! gateway; what the gateway says leaves through them.

mod hearing;

use crate::config::{Accounts, DiscordAccount, TelegramAccount};
use channels::{Discord, DiscordOptions, Mode, Secret, State, Telegram, TelegramOptions, Timing};
use domain::channels::{DISCORD_LONGEST, OutboundMessage};
use domain::workspaces::ChannelPlace;
use hearing::Ear;
use service::House;
use service::gateway::{Boxed, ChannelHost, ListedChannel, Outlet, SendFailed, Sending, WebhookAnswer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const TELEGRAM: &str = "telegram";
const DISCORD: &str = "discord";
/// Where Telegram posts to, behind the address that people use.
const WEBHOOK_PATH: &str = "/channels/telegram/webhook";

/// A handle; every clone is the same channels.
#[derive(Clone, Default)]
pub(super) struct RunningChannels(Arc<Mutex<Bots>>);

#[derive(Default)]
struct Bots {
    accounts: Accounts,
    by_channel: BTreeMap<&'static str, Arc<Bot>>,
}

enum Bot {
    Telegram(Telegram),
    Discord(Discord),
    /// It cannot even be tried; why, for admins.
    Unable(String),
}

impl Bot {
    fn telegram(account: &TelegramAccount, ear: Ear) -> Self {
        let options = || {
            let mode = match &account.webhook {
                None => Mode::Polling,
                Some(webhook) => Mode::Webhook {
                    secret: secret(&webhook.secret_env)?,
                    url: webhook.public_url.as_ref().map(|url| format!("{}{WEBHOOK_PATH}", url.trim_end_matches('/'))),
                },
            };
            let (token, api_base) = (secret(&account.token_env)?, account.api_base.clone());
            Ok(TelegramOptions { token, api_base, mode, timing: Timing::default() })
        };
        let started = options()
            .and_then(|options| Telegram::start(options, Arc::new(ear)).map_err(|invalid| invalid.to_string()));
        started.map_or_else(Self::Unable, Self::Telegram)
    }

    fn discord(account: &DiscordAccount, ear: Ear) -> Self {
        let (api_base, gateway_url) = (account.api_base.clone(), account.gateway_url.clone());
        let started = secret(&account.token_env).and_then(|token| {
            let options = DiscordOptions { token, api_base, gateway_url, timing: Timing::default() };
            Discord::start(options, Arc::new(ear)).map_err(|invalid| invalid.to_string())
        });
        started.map_or_else(Self::Unable, Self::Discord)
    }

    fn outlet(&self) -> Option<Arc<dyn channels::Outlet>> {
        match self {
            Self::Telegram(telegram) => Some(telegram.outlet()),
            Self::Discord(discord) => Some(discord.outlet()),
            Self::Unable(_) => None,
        }
    }

    fn state(&self) -> State {
        match self {
            Self::Telegram(telegram) => telegram.state(),
            Self::Discord(discord) => discord.state(),
            Self::Unable(why) => State::Failing { why: why.clone() },
        }
    }

    async fn stop(&self) {
        match self {
            Self::Telegram(telegram) => telegram.stop().await,
            Self::Discord(discord) => discord.stop().await,
            Self::Unable(_) => {}
        }
    }
}

fn secret(variable: &str) -> Result<Secret, String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    value.map(Secret::new).ok_or_else(|| format!("the environment variable {variable} is not set"))
}

impl RunningChannels {
    /// Makes it so: a bot whose account is as it was goes on, one that is another is ended before the new one begins.
    pub(super) async fn apply(&self, house: &House, accounts: &Accounts) {
        let before = self.bots().accounts.clone();
        if before.telegram != accounts.telegram {
            let new = accounts.telegram.as_ref().map(|account| |ear| Bot::telegram(account, ear));
            self.replace(house, TELEGRAM, new).await;
        }
        if before.discord != accounts.discord {
            let new = accounts.discord.as_ref().map(|account| |ear| Bot::discord(account, ear));
            self.replace(house, DISCORD, new).await;
        }
        self.bots().accounts = accounts.clone();
    }

    async fn replace(&self, house: &House, channel: &'static str, new: Option<impl FnOnce(Ear) -> Bot>) {
        // Two with one token would take each other's messages away.
        let old = self.bots().by_channel.remove(channel);
        if let Some(old) = old {
            old.stop().await;
        }
        let Some(new) = new else { return };
        let bot = new(Ear::new(house.clone(), self.clone(), channel));
        if let Bot::Unable(why) = &bot {
            tracing::warn!(channel, why, "the channel cannot be connected");
        }
        self.bots().by_channel.insert(channel, Arc::new(bot));
    }

    /// Nothing more is heard; what is being taken is taken.
    pub(super) async fn stop(&self) {
        let bots: Vec<Arc<Bot>> = self.bots().by_channel.values().cloned().collect();
        for bot in bots {
            bot.stop().await;
        }
    }

    fn bots(&self) -> MutexGuard<'_, Bots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bot(&self, channel: &str) -> Option<Arc<Bot>> {
        self.bots().by_channel.get(channel).cloned()
    }

    fn outlet(&self, channel: &str) -> Result<Arc<dyn channels::Outlet>, SendFailed> {
        let outlet = self.bot(channel).and_then(|bot| bot.outlet());
        // It may be connected again with the next file.
        let away = || SendFailed::for_now("the channel is not connected");
        outlet.ok_or_else(away)
    }
}

fn failed(error: &channels::Error) -> SendFailed {
    // A token may be put right, and another program may be ended: the words are still owed.
    let is_ours_to_mend = matches!(error, channels::Error::Unauthorized { .. } | channels::Error::Conflict { .. });
    SendFailed {
        may_help_to_try_again: error.is_transient() || is_ours_to_mend,
        may_have_been_said: error.is_unsure(),
        retry_after: error.retry_after(),
        why: error.to_string(),
    }
}

impl Outlet for RunningChannels {
    fn has(&self, channel: &str) -> bool {
        self.outlet(channel).is_ok()
    }

    fn longest(&self, channel: &str) -> usize {
        self.outlet(channel).map_or(DISCORD_LONGEST, |outlet| outlet.longest())
    }

    fn send<'a>(&'a self, message: &'a OutboundMessage) -> Sending<'a, Vec<String>> {
        Box::pin(async move {
            let sent = self.outlet(&message.place.channel)?.send(message).await;
            sent.map(|sent| sent.message_ids).map_err(|error| failed(&error))
        })
    }

    fn direct<'a>(&'a self, channel: &'a str, sender_id: &'a str) -> Sending<'a, ChannelPlace> {
        Box::pin(async move { self.outlet(channel)?.direct(sender_id).await.map_err(|error| failed(&error)) })
    }

    fn conclude<'a>(&'a self, place: &'a ChannelPlace, message_id: &'a str, text: &'a str) -> Sending<'a, ()> {
        Box::pin(async move {
            self.outlet(&place.channel)?.conclude(place, message_id, text).await.map_err(|error| failed(&error))
        })
    }
}

impl ChannelHost for RunningChannels {
    fn states(&self) -> Vec<ListedChannel> {
        let listed = |(name, bot): (&&'static str, &Arc<Bot>)| {
            let (state, why) = match bot.state() {
                State::Starting => ("starting", None),
                State::Connected => ("connected", None),
                State::Failing { why } => ("failing", Some(why)),
                State::Stopped => ("stopped", None),
            };
            ListedChannel { name, state, why }
        };
        self.bots().by_channel.iter().map(listed).collect()
    }

    fn is_telegram(&self, secret: Option<&[u8]>) -> Option<bool> {
        match self.bot(TELEGRAM).as_deref() {
            Some(Bot::Telegram(telegram)) => telegram.is_known(secret),
            _ => None,
        }
    }

    fn telegram_posts<'a>(&'a self, secret: Option<&'a [u8]>, body: &'a [u8]) -> Boxed<'a, WebhookAnswer> {
        Box::pin(async move {
            let bot = self.bot(TELEGRAM);
            let Some(Bot::Telegram(telegram)) = bot.as_deref() else { return WebhookAnswer::Forbidden };
            match telegram.webhook(secret, body).await {
                channels::WebhookAnswer::Taken => WebhookAnswer::Taken,
                channels::WebhookAnswer::NotNow => WebhookAnswer::NotNow,
                channels::WebhookAnswer::Forbidden => WebhookAnswer::Forbidden,
            }
        })
    }
}
