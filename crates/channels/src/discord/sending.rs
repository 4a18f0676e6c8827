//! What the house says at Discord. Words of a model are somebody else's text: they mention nobody, and links in them are
//! not looked up.

use super::api::{Api, Said};
use super::events::{self, is_number};
use crate::lanes::Lanes;
use crate::outlets::{Outlet, Sent};
use crate::pauses::{Twice, persist};
use crate::{Error, Result};
use data_encoding::HEXLOWER;
use domain::channels::{Button, CallbackId, DISCORD_LONGEST, OutboundMessage, split};
use domain::workspaces::ChannelPlace;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::Instant;

/// Links are not looked up.
const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// Only who pressed the button sees it.
const EPHEMERAL: u64 = 1 << 6;
/// Ways to answer a pressed button: with words, or with nothing to see.
const WITH_WORDS: u64 = 4;
const SILENTLY: u64 = 6;

pub(super) struct Voice {
    api: Arc<Api>,
    lanes: Lanes,
}

#[derive(Deserialize)]
struct Numbered {
    id: String,
}

impl Voice {
    pub(super) fn new(api: Arc<Api>) -> Self {
        Self { api, lanes: Lanes::default() }
    }

    async fn say(&self, message: &OutboundMessage) -> Result<Sent> {
        message.check().map_err(|refusal| Error::Unsendable(refusal.to_string()))?;
        let channel = channel_of(&message.place)?;
        let path = format!("/channels/{channel}/messages");
        let mut turn = self.lanes.enter(channel).await;
        let parts = split(&message.text, DISCORD_LONGEST);
        let mut message_ids = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if let Some(at) = *turn {
                tokio::time::sleep_until(at).await;
            }
            // The same words said twice with one nonce are shown once: a lost answer costs nothing.
            let mut body = with_words(part);
            body["nonce"] = nonce()?.into();
            body["enforce_nonce"] = true.into();
            if let Some(replied) = message.reply_to.as_deref().filter(|_| index == 0) {
                body["message_reference"] = json!({ "message_id": replied, "fail_if_not_exists": false });
            }
            if index + 1 == parts.len() && !message.buttons.is_empty() {
                body["components"] = row(&message.buttons);
            }
            let said: Said<Numbered> = self.call(Method::POST, &path, Some(&body)).await?;
            *turn = said.quiet.map(|quiet| Instant::now() + quiet.min(self.api.timing.patience));
            message_ids.push(said.result.id);
        }
        Ok(Sent { message_ids })
    }

    async fn call<T: DeserializeOwned>(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Said<T>> {
        persist(&self.api.timing, Twice::IsOnce, || self.api.call(method.clone(), path, body)).await
    }

    async fn answer(&self, callback: &CallbackId, text: &str) -> Result<()> {
        let path = format!("/interactions/{}/callback", callback.0);
        let mut parts = split(text, DISCORD_LONGEST).into_iter();
        let body = match parts.next() {
            Some(text) => {
                let mut words = with_words(&text);
                words["flags"] = (SUPPRESS_EMBEDS | EPHEMERAL).into();
                json!({ "type": WITH_WORDS, "data": words })
            }
            None => json!({ "type": SILENTLY }),
        };
        self.call::<IgnoredAny>(Method::POST, &path, Some(&body)).await.map(|_| ())
    }

    async fn end(&self, place: &ChannelPlace, message_id: &str, text: &str) -> Result<()> {
        let path = format!("/channels/{}/messages/{}", channel_of(place)?, number(message_id)?);
        let mut parts = split(text, DISCORD_LONGEST);
        let mut body = match (parts.pop(), parts.is_empty()) {
            (Some(text), true) => with_words(&text),
            (None, _) => json!({}),
            _ => return Err(Error::Unsendable("it does not fit into one message".to_owned())),
        };
        body["components"] = json!([]);
        self.call::<IgnoredAny>(Method::PATCH, &path, Some(&body)).await.map(|_| ())
    }
}

impl Outlet for Voice {
    fn longest(&self) -> usize {
        DISCORD_LONGEST
    }

    fn send<'a>(&'a self, message: &'a OutboundMessage) -> BoxFuture<'a, Result<Sent>> {
        self.say(message).boxed()
    }

    fn typing<'a>(&'a self, place: &'a ChannelPlace, _thread_id: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
        async move {
            let path = format!("/channels/{}/typing", channel_of(place)?);
            self.api.call::<IgnoredAny>(Method::POST, &path, None).await.map(|_| ())
        }
        .boxed()
    }

    fn answer_press<'a>(&'a self, callback: &'a CallbackId, text: &'a str) -> BoxFuture<'a, Result<()>> {
        self.answer(callback, text).boxed()
    }

    fn conclude<'a>(
        &'a self,
        place: &'a ChannelPlace,
        message_id: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        self.end(place, message_id, text).boxed()
    }

    /// Discord answers with the same place every time.
    fn direct<'a>(&'a self, user_id: &'a str) -> BoxFuture<'a, Result<ChannelPlace>> {
        async move {
            let body = json!({ "recipient_id": number(user_id)? });
            let said: Said<Numbered> = self.call(Method::POST, "/users/@me/channels", Some(&body)).await?;
            let channel_id = Some(said.result.id).filter(|id| is_number(id));
            if channel_id.is_none() {
                return Err(Error::Garbled("the direct chat has no number"));
            }
            Ok(ChannelPlace { channel: events::CHANNEL.to_owned(), chat_id: None, guild_id: None, channel_id })
        }
        .boxed()
    }
}

/// Ids become part of an address: they are numbers, or nothing is sent.
fn channel_of(place: &ChannelPlace) -> Result<&str> {
    let channel = place.channel_id.as_deref().filter(|_| place.channel == events::CHANNEL);
    number(channel.ok_or_else(|| Error::Unsendable("its place is no channel of discord".to_owned()))?)
}

fn number(id: &str) -> Result<&str> {
    if is_number(id) { Ok(id) } else { Err(Error::Unsendable("an id of discord is a number".to_owned())) }
}

fn with_words(text: &str) -> Value {
    json!({ "content": text, "allowed_mentions": { "parse": [] }, "flags": SUPPRESS_EMBEDS })
}

fn row(buttons: &[Button]) -> Value {
    let button = |button: &Button| json!({ "type": 2, "style": 2, "label": button.label, "custom_id": button.data });
    json!([{ "type": 1, "components": buttons.iter().map(button).collect::<Vec<_>>() }])
}

fn nonce() -> Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| Error::Unsendable("this machine gives no random numbers".to_owned()))?;
    Ok(HEXLOWER.encode(&bytes))
}
