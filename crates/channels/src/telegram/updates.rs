//! One update of Telegram in the words of the house.
//!
//! Only numbers that Telegram vouches for are identities. Whoever hides behind a chat (`sender_chat`: anonymous admins,
//! channels) is nobody, also where Telegram fills in a stand-in. An update that cannot be read is passed over.

use crate::lossy::Text;
use domain::channels::{
    CallbackId, ChatType, DisplayName, InboundKind, InboundMessage, Marks, command_of, without_mention,
};
use domain::workspaces::ChannelPlace;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub(crate) const CHANNEL: &str = "telegram";

/// What comes instead of words, or with them as their caption.
const MEDIA: [&str; 14] = [
    "photo",
    "voice",
    "video",
    "document",
    "audio",
    "sticker",
    "animation",
    "video_note",
    "location",
    "contact",
    "poll",
    "venue",
    "story",
    "paid_media",
];

/// The bot itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Me {
    pub(crate) id: i64,
    #[serde(default)]
    pub(crate) username: String,
}

/// What an update comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    Message(Box<InboundMessage>),
    /// Nothing that concerns the house, and why.
    Nothing(&'static str),
}

#[derive(Deserialize)]
struct Update<'u> {
    update_id: i64,
    #[serde(borrow, default)]
    message: Option<&'u RawValue>,
    #[serde(borrow, default)]
    edited_message: Option<&'u RawValue>,
    #[serde(borrow, default)]
    callback_query: Option<&'u RawValue>,
}

#[derive(Deserialize)]
struct Numbered {
    update_id: i64,
}

#[derive(Deserialize)]
struct Message {
    message_id: i64,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    from: Option<User>,
    sender_chat: Option<IgnoredAny>,
    chat: Chat,
    text: Option<Text>,
    caption: Option<Text>,
    #[serde(default)]
    entities: Vec<Entity>,
    reply_to_message: Option<RepliedTo>,
    forward_origin: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Chat {
    id: i64,
    r#type: String,
}

#[derive(Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    first_name: Text,
    #[serde(default)]
    last_name: Text,
}

/// A mention of somebody without a name at Telegram.
#[derive(Deserialize)]
struct Entity {
    user: Option<User>,
}

#[derive(Deserialize)]
struct RepliedTo {
    message_id: i64,
    from: Option<User>,
}

#[derive(Deserialize)]
struct Callback {
    id: Text,
    from: User,
    message: Option<Pressed>,
    data: Option<Text>,
}

#[derive(Deserialize)]
struct Pressed {
    message_id: i64,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    chat: Chat,
}

/// The number of an update, whatever else is in it.
pub(crate) fn number_of(update: &RawValue) -> Option<i64> {
    serde_json::from_str::<Numbered>(update.get()).ok().map(|numbered| numbered.update_id)
}

pub(crate) fn read_bytes(update: &[u8], me: &Me) -> Heard {
    match serde_json::from_slice::<&RawValue>(update) {
        Ok(update) => read(update, me),
        Err(_) => Heard::Nothing("it is no JSON"),
    }
}

pub(crate) fn read(update: &RawValue, me: &Me) -> Heard {
    let Ok(update) = serde_json::from_str::<Update<'_>>(update.get()) else {
        return Heard::Nothing("it has another form");
    };
    let number = update.update_id.to_string();
    let heard = if let Some(message) = update.message {
        said(message, false, me)
    } else if let Some(message) = update.edited_message {
        said(message, true, me)
    } else if let Some(callback) = update.callback_query {
        pressed(callback, me)
    } else {
        return Heard::Nothing("it is of another kind");
    };
    match heard {
        Ok(message) => Heard::Message(Box::new(InboundMessage { update_id: Some(number), ..message })),
        Err(why) => Heard::Nothing(why),
    }
}

fn said(raw: &RawValue, is_edit: bool, me: &Me) -> Result<InboundMessage, &'static str> {
    let message: Message = serde_json::from_str(raw.get()).map_err(|_| "its message has another form")?;
    // `first` is what came, in whatever form; only the names of its parts are looked at.
    let parts: BTreeMap<String, IgnoredAny> =
        serde_json::from_str(raw.get()).map_err(|_| "its message has no parts")?;
    let chat = chat_type(&message.chat)?;
    if message.sender_chat.is_none() && message.from.as_ref().is_some_and(|user| user.is_bot) {
        return Err("a bot said it");
    }
    let has_media = MEDIA.iter().any(|media| parts.contains_key(*media));
    let Text(words) = message.text.as_ref().or(message.caption.as_ref()).cloned().unwrap_or_default();
    if words.is_empty() && !has_media {
        return Err("nobody said anything");
    }
    let is_forwarded = message.forward_origin.is_some() || parts.contains_key("forward_date");
    let (words, is_mentioned) = without_mention(&words, &[&mention_of(me)]);
    let command = command_of(&words, &me.username).filter(|_| !is_edit && !is_forwarded);
    let is_addressed = is_mentioned || command.is_some() || is_replied_to(&message, me) || is_named(&message, me);
    let from = message.from.as_ref().filter(|_| message.sender_chat.is_none());
    Ok(InboundMessage {
        account: me.id.to_string(),
        place: place(message.chat.id),
        thread_id: message.message_thread_id.filter(|_| message.is_topic_message).map(|id| id.to_string()),
        chat,
        sender_id: from.and_then(sender_id),
        display_name: from.map(display_name).unwrap_or_default(),
        message_id: message.message_id.to_string(),
        update_id: None,
        text: command.map_or(words.clone(), |(_, rest)| rest.to_owned()),
        kind: if is_edit { InboundKind::Edit } else { InboundKind::Message(command.map(|(command, _)| command)) },
        marks: Marks { is_addressed, is_forwarded, has_media },
    })
}

fn pressed(raw: &RawValue, me: &Me) -> Result<InboundMessage, &'static str> {
    let callback: Callback = serde_json::from_str(raw.get()).map_err(|_| "its press has another form")?;
    let message = callback.message.ok_or("a button that is not ours was pressed")?;
    let Text(data) = callback.data.ok_or("a button without words was pressed")?;
    Ok(InboundMessage {
        account: me.id.to_string(),
        place: place(message.chat.id),
        thread_id: message.message_thread_id.filter(|_| message.is_topic_message).map(|id| id.to_string()),
        chat: chat_type(&message.chat)?,
        sender_id: sender_id(&callback.from),
        display_name: display_name(&callback.from),
        message_id: message.message_id.to_string(),
        update_id: None,
        text: String::new(),
        kind: InboundKind::Press { callback: CallbackId(callback.id.0), data },
        marks: Marks { is_addressed: true, ..Marks::default() },
    })
}

fn chat_type(chat: &Chat) -> Result<ChatType, &'static str> {
    match chat.r#type.as_str() {
        "private" => Ok(ChatType::Direct),
        "group" | "supergroup" => Ok(ChatType::Group),
        _ => Err("it is of a place without conversations"),
    }
}

pub(crate) fn place(chat: i64) -> ChannelPlace {
    ChannelPlace { channel: CHANNEL.to_owned(), chat_id: Some(chat.to_string()), guild_id: None, channel_id: None }
}

fn sender_id(user: &User) -> Option<String> {
    (user.id > 0 && !user.is_bot).then(|| user.id.to_string())
}

fn display_name(user: &User) -> DisplayName {
    DisplayName::new(&format!("{} {}", user.first_name.0, user.last_name.0))
}

fn mention_of(me: &Me) -> String {
    if me.username.is_empty() { String::new() } else { format!("@{}", me.username) }
}

/// In a place with topics everything answers the message that began the topic, which says nothing.
fn is_replied_to(message: &Message, me: &Me) -> bool {
    message.reply_to_message.as_ref().is_some_and(|replied| {
        let began_topic = message.is_topic_message && message.message_thread_id == Some(replied.message_id);
        !began_topic && replied.from.as_ref().is_some_and(|user| user.id == me.id)
    })
}

fn is_named(message: &Message, me: &Me) -> bool {
    message.entities.iter().filter_map(|entity| entity.user.as_ref()).any(|user| user.id == me.id)
}

#[cfg(test)]
mod tests;
