//! One event of Discord in the words of the house.
//!
//! Only numbers that Discord vouches for are identities. Bots and webhooks are nobody: what they say is passed over, or
//! two bots would talk to each other for ever. An event that cannot be read is passed over.

use crate::lossy::Text;
use domain::channels::{
    CallbackId, ChatType, DisplayName, InboundKind, InboundMessage, Marks, command_of, without_mention,
};
use domain::workspaces::{ChannelPlace, Identity};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

pub(crate) const CHANNEL: &str = "discord";

/// What people write, and what they write as a reply. Others tell of joins, pins, boosts.
const WRITTEN: [u64; 2] = [0, 19];
/// Of an interaction: a button or a menu of a message.
const PRESS: u64 = 3;
/// Of a reference: somebody else's words were passed on.
const FORWARD: u64 = 1;

#[derive(Deserialize)]
struct Message {
    id: String,
    channel_id: String,
    guild_id: Option<String>,
    author: Option<User>,
    content: Option<Text>,
    edited_timestamp: Option<IgnoredAny>,
    r#type: Option<u64>,
    #[serde(default)]
    mentions: Vec<User>,
    referenced_message: Option<Referenced>,
    message_reference: Option<Reference>,
    #[serde(default)]
    attachments: Vec<IgnoredAny>,
    #[serde(default)]
    sticker_items: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct User {
    id: String,
    #[serde(default)]
    bot: bool,
    #[serde(default)]
    system: bool,
    username: Option<Text>,
    global_name: Option<Text>,
}

#[derive(Deserialize)]
struct Referenced {
    author: Option<User>,
}

#[derive(Deserialize)]
struct Reference {
    r#type: Option<u64>,
}

#[derive(Deserialize)]
struct Interaction {
    id: String,
    token: String,
    r#type: u64,
    channel_id: Option<String>,
    guild_id: Option<String>,
    /// Who pressed it in a guild.
    member: Option<Member>,
    /// Who pressed it elsewhere.
    user: Option<User>,
    data: Option<Custom>,
    message: Option<Pressed>,
}

#[derive(Deserialize)]
struct Member {
    user: Option<User>,
}

#[derive(Deserialize)]
struct Custom {
    custom_id: Text,
}

#[derive(Deserialize)]
struct Pressed {
    id: String,
}

/// What an event comes to; an error says why it is nothing that concerns the house.
pub(crate) type Heard = Result<InboundMessage, &'static str>;

/// `me` is the bot's own id.
pub(crate) fn read(name: &str, event: &RawValue, me: &str) -> Heard {
    match name {
        "MESSAGE_CREATE" => said(event, false, me),
        "MESSAGE_UPDATE" => said(event, true, me),
        "INTERACTION_CREATE" => pressed(event, me),
        _ => Err("it is of another kind"),
    }
}

fn said(event: &RawValue, is_edit: bool, me: &str) -> Heard {
    let message: Message = serde_json::from_str(event.get()).map_err(|_| "its message has another form")?;
    let author = message.author.as_ref().ok_or("nobody said it")?;
    if author.bot || author.system || author.id == me {
        return Err("a bot said it");
    }
    // Discord tells of links that it looked up as if somebody had edited the message.
    if is_edit && (message.edited_timestamp.is_none() || message.content.is_none()) {
        return Err("nobody changed the words");
    }
    if !message.r#type.is_none_or(|kind| WRITTEN.contains(&kind)) {
        return Err("nobody said anything");
    }
    let is_forwarded = message.message_reference.as_ref().is_some_and(|reference| reference.r#type == Some(FORWARD));
    let has_media = !message.attachments.is_empty() || !message.sticker_items.is_empty() || is_forwarded;
    let Text(words) = message.content.clone().unwrap_or_default();
    if words.is_empty() && !has_media {
        return Err("nobody said anything");
    }
    let (words, is_mentioned) = without_mention(&words, &[&format!("<@{me}>"), &format!("<@!{me}>")]);
    let command = command_of(&words, "").filter(|_| !is_edit && !is_forwarded);
    let is_replied_to = || {
        let replied = message.referenced_message.as_ref().and_then(|referenced| referenced.author.as_ref());
        replied.is_some_and(|author| author.id == me)
    };
    let is_named = || message.mentions.iter().any(|user| user.id == me);
    Ok(InboundMessage {
        account: me.to_owned(),
        chat: chat_type(message.guild_id.as_deref()),
        place: place(message.guild_id.clone(), message.channel_id.clone())?,
        thread_id: None,
        sender_id: sender_id(author),
        display_name: display_name(author),
        update_id: None,
        text: command.map_or(words.clone(), |(_, rest)| rest.to_owned()),
        kind: if is_edit { InboundKind::Edit } else { InboundKind::Message(command.map(|(command, _)| command)) },
        marks: Marks {
            is_addressed: is_mentioned || command.is_some() || is_replied_to() || is_named(),
            is_forwarded,
            has_media,
        },
        message_id: message.id,
    })
}

fn pressed(event: &RawValue, me: &str) -> Heard {
    let interaction: Interaction = serde_json::from_str(event.get()).map_err(|_| "its press has another form")?;
    if interaction.r#type != PRESS {
        return Err("it is no press of a button");
    }
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if !is_number(&interaction.id) || interaction.token.is_empty() || !is_word(&interaction.token) {
        return Err("its press cannot be answered");
    }
    let user = interaction.member.and_then(|member| member.user).or(interaction.user).ok_or("nobody pressed it")?;
    let message = interaction.message.ok_or("a button that is not ours was pressed")?;
    let channel_id = interaction.channel_id.ok_or("it was pressed nowhere")?;
    let Text(data) = interaction.data.ok_or("a button without words was pressed")?.custom_id;
    Ok(InboundMessage {
        account: me.to_owned(),
        chat: chat_type(interaction.guild_id.as_deref()),
        place: place(interaction.guild_id, channel_id)?,
        thread_id: None,
        sender_id: sender_id(&user),
        display_name: display_name(&user),
        message_id: message.id,
        update_id: Some(interaction.id.clone()),
        text: String::new(),
        kind: InboundKind::Press { callback: CallbackId(format!("{}/{}", interaction.id, interaction.token)), data },
        marks: Marks { is_addressed: true, ..Marks::default() },
    })
}

fn chat_type(guild: Option<&str>) -> ChatType {
    if guild.is_some() { ChatType::Group } else { ChatType::Direct }
}

fn place(guild_id: Option<String>, channel_id: String) -> Result<ChannelPlace, &'static str> {
    if !is_number(&channel_id) || !guild_id.as_deref().is_none_or(is_number) {
        return Err("its place has no number");
    }
    Ok(ChannelPlace { channel: CHANNEL.to_owned(), chat_id: None, guild_id, channel_id: Some(channel_id) })
}

/// Whether a text is one of Discord's own numbers.
pub(crate) fn is_number(text: &str) -> bool {
    Identity { channel: CHANNEL.to_owned(), id: text.to_owned() }.check().is_ok()
}

fn sender_id(user: &User) -> Option<String> {
    (!user.bot && !user.system && is_number(&user.id)).then(|| user.id.clone())
}

fn display_name(user: &User) -> DisplayName {
    let name = user.global_name.as_ref().or(user.username.as_ref());
    name.map(|Text(name)| DisplayName::new(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
