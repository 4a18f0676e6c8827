//! The seam to whoever speaks in channels for the house. Behind it are providers; before it nobody knows one.

use crate::health::{Check, Status};
use crate::{Ctx, House, Result};
use domain::channels::OutboundMessage;
pub use domain::deliveries::Failed as SendFailed;
use domain::workspaces::ChannelPlace;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
pub type Sending<'a, T> = Boxed<'a, Result<T, SendFailed>>;

/// Whatever says words in channels.
pub trait Outlet: Send + Sync {
    /// Whether this channel is connected here at all.
    fn has(&self, channel: &str) -> bool;

    /// How much fits into one message, in UTF-16 code units.
    fn longest(&self, channel: &str) -> usize;

    /// Answers the provider's ids of the messages that it became; buttons are under the last.
    fn send<'a>(&'a self, message: &'a OutboundMessage) -> Sending<'a, Vec<String>>;

    /// The place where one person alone is spoken to.
    fn direct<'a>(&'a self, channel: &'a str, sender_id: &'a str) -> Sending<'a, ChannelPlace>;

    /// Replaces the words of a message and takes its buttons away.
    fn conclude<'a>(&'a self, place: &'a ChannelPlace, message_id: &'a str, text: &'a str) -> Sending<'a, ()>;
}

/// Whoever runs the channels of this process.
pub trait ChannelHost: Outlet + 'static {
    fn states(&self) -> Vec<ListedChannel>;

    /// Whether who posts to the address that Telegram is told of knows the secret; none if nobody is to post there.
    fn is_telegram(&self, secret: Option<&[u8]>) -> Option<bool>;

    /// What somebody posted there.
    fn telegram_posts<'a>(&'a self, secret: Option<&'a [u8]>, body: &'a [u8]) -> Boxed<'a, WebhookAnswer>;
}

/// The words for how a channel stands.
pub const CHANNEL_STATES: [&str; 4] = ["starting", "connected", "failing", "stopped"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedChannel {
    pub name: &'static str,
    /// One of `CHANNEL_STATES`.
    pub state: &'static str,
    /// Why it fails, for admins.
    pub why: Option<String>,
}

/// What became of a post to our address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookAnswer {
    /// Needs not be told again.
    Taken,
    /// Should be told again.
    NotNow,
    /// Who posts does not know the secret.
    Forbidden,
}

/// What one house holds of channels.
#[derive(Default)]
pub(crate) struct Channels(OnceLock<Arc<dyn ChannelHost>>);

impl House {
    /// Gives the house its channels; once.
    pub fn use_channels(&self, host: Arc<dyn ChannelHost>) {
        if self.channels().0.set(host).is_err() {
            tracing::warn!("this house has its channels already");
        }
    }
}

impl Channels {
    pub(crate) fn host(&self) -> Option<&Arc<dyn ChannelHost>> {
        self.0.get()
    }
}

/// How the channels stand, those that are configured.
pub fn channel_states(house: &House) -> Vec<ListedChannel> {
    house.channels().host().map(|host| host.states()).unwrap_or_default()
}

/// Whether they are connected. None where there are none. Why one is not is for admins.
pub(crate) fn check(house: &House) -> Option<Check> {
    let listed = channel_states(house);
    let failing: Vec<&str> =
        listed.iter().filter(|channel| channel.state == "failing").map(|channel| channel.name).collect();
    let (status, detail) = match failing.as_slice() {
        [] => (Status::Healthy, format!("{} of {} channels are connected", connected(&listed), listed.len())),
        names => (Status::Degraded, format!("not connected, tried again: {}", names.join(", "))),
    };
    (!listed.is_empty()).then_some(Check { name: "channels", status, detail })
}

fn connected(listed: &[ListedChannel]) -> usize {
    listed.iter().filter(|channel| channel.state == "connected").count()
}

/// Whether who posts to the address that Telegram is told of knows the secret; none if nobody is to post there.
pub fn is_telegram(house: &House, secret: Option<&[u8]>) -> Option<bool> {
    house.channels().host()?.is_telegram(secret)
}

/// What was posted there.
pub async fn telegram_posts(house: &House, secret: Option<&[u8]>, body: &[u8]) -> WebhookAnswer {
    match house.channels().host() {
        Some(host) => host.telegram_posts(secret, body).await,
        None => WebhookAnswer::Forbidden,
    }
}

/// How the channels stand, with the reasons.
pub fn list_channels(ctx: &Ctx) -> Result<Vec<ListedChannel>> {
    ctx.caller.require_admin()?;
    Ok(channel_states(&ctx.house))
}
