//! What the house says at Telegram. Words of a model are somebody else's text: they are shown with formatting only if
//! Telegram accepts it, links in them are not looked up, and a target is never hidden behind other words.

use super::api::Api;
use super::formatting::html;
use super::updates;
use crate::lanes::Lanes;
use crate::outlets::{Outlet, Sent};
use crate::pauses::{Twice, persist};
use crate::{Error, Result};
use domain::channels::{Button, CallbackId, OutboundMessage, TELEGRAM_LONGEST, split};
use domain::workspaces::ChannelPlace;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of what a pressed button is answered with.
const NOTICE_LONGEST: usize = 200;

pub(super) struct Telegraph {
    api: Arc<Api>,
    lanes: Lanes,
}

#[derive(Deserialize)]
struct Written {
    message_id: i64,
}

impl Telegraph {
    pub(super) fn new(api: Arc<Api>) -> Self {
        Self { api, lanes: Lanes::default() }
    }

    async fn say(&self, message: &OutboundMessage) -> Result<Sent> {
        message.check().map_err(|refusal| Error::Unsendable(refusal.to_string()))?;
        let chat = chat_of(&message.place)?;
        let _turn = self.lanes.enter(&chat.to_string()).await;
        let parts = split(&message.text, TELEGRAM_LONGEST);
        let mut message_ids = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let mut body = json!({ "chat_id": chat });
            if let Some(thread) = message.thread_id.as_deref() {
                body["message_thread_id"] = number(thread)?.into();
            }
            if let Some(replied) = message.reply_to.as_deref().filter(|_| index == 0) {
                body["reply_parameters"] =
                    json!({ "message_id": number(replied)?, "allow_sending_without_reply": true });
            }
            if index + 1 == parts.len() && !message.buttons.is_empty() {
                body["reply_markup"] = keyboard(&message.buttons);
            }
            let written: Written = self.write("sendMessage", body, part).await?;
            message_ids.push(written.message_id.to_string());
        }
        Ok(Sent { message_ids })
    }

    /// With formatting, or if Telegram finds fault with it, without.
    async fn write<T: for<'de> Deserialize<'de>>(&self, method: &str, body: Value, text: &str) -> Result<T> {
        let mut formatted = body.clone();
        formatted["text"] = html(text).into();
        formatted["parse_mode"] = "HTML".into();
        let mut plain = body;
        plain["text"] = text.into();
        for body in [&mut formatted, &mut plain] {
            // Looking a link up tells its owner, and its address may tell what was said here.
            body["link_preview_options"] = json!({ "is_disabled": true });
        }
        match self.call(method, &formatted).await {
            Err(Error::Refused { status: 400, excerpt }) if !is_unchanged(&excerpt) => self.call(method, &plain).await,
            other => other,
        }
    }

    async fn call<T: for<'de> Deserialize<'de>>(&self, method: &str, body: &Value) -> Result<T> {
        persist(&self.api.timing, Twice::IsTwice, || self.api.call(method, body)).await
    }

    async fn end(&self, place: &ChannelPlace, message_id: &str, text: &str) -> Result<()> {
        let body = json!({
            "chat_id": chat_of(place)?,
            "message_id": number(message_id)?,
            "reply_markup": { "inline_keyboard": [] },
        });
        let mut parts = split(text, TELEGRAM_LONGEST);
        let done: Result<IgnoredAny> = match (parts.pop(), parts.is_empty()) {
            (Some(text), true) => self.write("editMessageText", body, &text).await,
            (None, _) => self.call("editMessageReplyMarkup", &body).await,
            _ => return Err(Error::Unsendable("it does not fit into one message".to_owned())),
        };
        match done {
            // Somebody did it before, or the answer to the first attempt was lost.
            Err(Error::Refused { excerpt, .. }) if is_unchanged(&excerpt) => Ok(()),
            done => done.map(|_| ()),
        }
    }
}

impl Outlet for Telegraph {
    fn longest(&self) -> usize {
        TELEGRAM_LONGEST
    }

    fn send<'a>(&'a self, message: &'a OutboundMessage) -> BoxFuture<'a, Result<Sent>> {
        self.say(message).boxed()
    }

    fn typing<'a>(&'a self, place: &'a ChannelPlace, thread_id: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
        async move {
            let mut body = json!({ "chat_id": chat_of(place)?, "action": "typing" });
            if let Some(thread) = thread_id {
                body["message_thread_id"] = number(thread)?.into();
            }
            self.api.call::<IgnoredAny>("sendChatAction", &body).await.map(|_| ())
        }
        .boxed()
    }

    fn answer_press<'a>(&'a self, callback: &'a CallbackId, text: &'a str) -> BoxFuture<'a, Result<()>> {
        async move {
            let text: String = text.chars().take(NOTICE_LONGEST).collect();
            let body = json!({ "callback_query_id": callback.0, "text": text });
            self.call::<IgnoredAny>("answerCallbackQuery", &body).await.map(|_| ())
        }
        .boxed()
    }

    fn conclude<'a>(
        &'a self,
        place: &'a ChannelPlace,
        message_id: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        self.end(place, message_id, text).boxed()
    }

    /// A chat with a person has the person's number. They must have written first.
    fn direct<'a>(&'a self, user_id: &'a str) -> BoxFuture<'a, Result<ChannelPlace>> {
        async move {
            let id = number(user_id)?;
            if id > 0 { Ok(updates::place(id)) } else { Err(Error::Unsendable("it is no person's id".to_owned())) }
        }
        .boxed()
    }
}

fn chat_of(place: &ChannelPlace) -> Result<i64> {
    let chat = place.chat_id.as_deref().filter(|_| place.channel == updates::CHANNEL);
    number(chat.ok_or_else(|| Error::Unsendable("its place is no chat of telegram".to_owned()))?)
}

fn number(id: &str) -> Result<i64> {
    id.parse().map_err(|_| Error::Unsendable("an id of telegram is a number".to_owned()))
}

fn keyboard(buttons: &[Button]) -> Value {
    let row = buttons.iter().map(|button| json!({ "text": button.label, "callback_data": button.data }));
    json!({ "inline_keyboard": [row.collect::<Vec<_>>()] })
}

fn is_unchanged(excerpt: &str) -> bool {
    excerpt.contains("message is not modified")
}
