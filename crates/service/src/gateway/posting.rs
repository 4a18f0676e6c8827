//! The `http` channel: a bot of one's own posts what people write. It vouches for them as a provider would, with a token
//! that can do nothing else.

use super::{Door, Received, receive};
use crate::{Ctx, Result, rules};
use domain::Refusal;
use domain::callers::Credential;
use domain::channels::{ChatType, DisplayName, InboundKind, InboundMessage, Marks, command_of};
use domain::messages::check_content;
use domain::workspaces::{ChannelPlace, Identity, PLACE_LONGEST};

const HTTP: &str = "http";

/// What a bot says about a message.
#[derive(Debug, Clone)]
pub struct PostMessage {
    pub chat_id: String,
    pub chat: ChatType,
    pub sender_id: String,
    pub display_name: String,
    pub message_id: String,
    pub text: String,
    /// Whether the bot was mentioned or replied to: counts where a binding says `reply: mention`.
    pub is_addressed: bool,
}

/// Takes a message that a bot posts. Answers it as it was understood, and what was done about it.
pub async fn post(ctx: &Ctx, input: PostMessage) -> Result<(InboundMessage, Received)> {
    if !matches!(&ctx.caller.credential, Credential::Channel { channel } if channel == HTTP) {
        let message = "this takes a token of the http channel: `longhouse token create --channel http`";
        return Err(Refusal::forbidden(message).into());
    }
    if !rules::in_force(&ctx.house).await?.house.channels.http {
        let message =
            "the configuration file has switched the http channel off: `channels: { http: { enabled: true } }`";
        return Err(Refusal::forbidden(message).into());
    }
    let message = understood(input)?;
    let received = receive(&ctx.house, message.clone(), Door::Waiting).await?;
    Ok((message, received))
}

fn understood(input: PostMessage) -> Result<InboundMessage> {
    let place =
        ChannelPlace { channel: HTTP.to_owned(), chat_id: Some(input.chat_id), guild_id: None, channel_id: None };
    place.check()?;
    let sender = Identity { channel: HTTP.to_owned(), id: input.sender_id };
    let message = format!("`sender_id` is 1 to {PLACE_LONGEST} characters that can be seen");
    sender.check().map_err(|_| Refusal::invalid_field("sender_id", message))?;
    let is_id = (1..=PLACE_LONGEST).contains(&input.message_id.chars().count())
        && !input.message_id.chars().any(char::is_control);
    if !is_id {
        let message = format!("`message_id` is 1 to {PLACE_LONGEST} characters");
        return Err(Refusal::invalid_field("message_id", message).into());
    }
    check_content(&input.text)?;
    let (command, text) = match command_of(&input.text, "") {
        Some((command, rest)) => (Some(command), rest.to_owned()),
        None => (None, input.text),
    };
    Ok(InboundMessage {
        account: HTTP.to_owned(),
        place,
        thread_id: None,
        chat: input.chat,
        sender_id: Some(sender.id),
        display_name: DisplayName::new(&input.display_name),
        message_id: input.message_id,
        update_id: None,
        text,
        kind: InboundKind::Message(command),
        marks: Marks { is_addressed: input.is_addressed, ..Marks::default() },
    })
}
