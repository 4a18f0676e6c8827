//! Messages of channels: what comes in from outside and what goes back, and the rules that hold for every channel.
//!
//! A sender is who the provider vouches for, or nobody. Names that people chose are for people's eyes and decide
//! nothing. Text is somebody else's: it is bounded and cut here, and never believed.

mod fences;
mod mentions;
mod splitting;

pub use fences::{Fence, fence_of, is_end_of};
pub use mentions::{ChatCommand, command_of, without_mention};
pub use splitting::{split, utf16_length};

use crate::skills::reveal;
use crate::workspaces::{ChannelPlace, Reply};
use crate::{Refusal, Result};
use std::fmt;

/// What Telegram takes in one message, and counts in UTF-16 code units.
pub const TELEGRAM_LONGEST: usize = 4096;
/// What Discord takes in one message. It counts characters, of which there are never more than code units.
pub const DISCORD_LONGEST: usize = 2000;
/// What a button carries, in bytes: the least that a provider allows.
pub const BUTTON_LONGEST: usize = 64;
/// What is written on a button, in characters.
pub const LABEL_LONGEST: usize = 40;
pub const BUTTONS_MOST: usize = 5;
const DISPLAY_NAME_LONGEST: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatType {
    /// With one person.
    Direct,
    Group,
}

/// What a provider told, in the words of the house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundMessage {
    /// The bot's own id with the provider: the same message may be told by two bots.
    pub account: String,
    /// Names the channel too. A direct chat of discord has a `channel_id` and no `guild_id`.
    pub place: ChannelPlace,
    /// The topic of the place, where it has topics; an answer belongs into the same one.
    pub thread_id: Option<String>,
    pub chat: ChatType,
    /// None if the provider vouches for no person: an anonymous admin, a channel that speaks for itself.
    pub sender_id: Option<String>,
    pub display_name: DisplayName,
    /// Of the message, of the edited message, or of the message whose button was pressed.
    pub message_id: String,
    pub update_id: Option<String>,
    /// Without the mention of the bot, and without the command.
    pub text: String,
    pub kind: InboundKind,
    pub marks: Marks,
}

/// What else a provider told about a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// The bot is mentioned or replied to, or the command is its own.
    pub is_addressed: bool,
    /// The words are somebody else's.
    pub is_forwarded: bool,
    /// Something came with it that is not text.
    pub has_media: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundKind {
    /// New. With a command if it begins with one of ours.
    Message(Option<ChatCommand>),
    /// Words that were said before, said differently: never the start of a second turn.
    Edit,
    /// Whoever presses it may have sent other words than the button has: they ask, like any text.
    Press { callback: CallbackId, data: String },
}

/// What a pressed button is answered by. Some providers take it for a credential, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct CallbackId(pub String);

impl fmt::Debug for CallbackId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CallbackId")
    }
}

/// What somebody calls themselves: one line, bounded, nothing hidden. It never decides anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisplayName(String);

impl DisplayName {
    pub fn new(name: &str) -> Self {
        let short: String = name.chars().take(DISPLAY_NAME_LONGEST).collect();
        Self(reveal(&short.split_whitespace().collect::<Vec<_>>().join(" ")).0)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What goes to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundMessage {
    pub place: ChannelPlace,
    pub thread_id: Option<String>,
    /// Markdown, of any length.
    pub text: String,
    /// The message that this answers.
    pub reply_to: Option<String>,
    /// Under the last part.
    pub buttons: Vec<Button>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    /// Comes back when it is pressed.
    pub data: String,
}

impl OutboundMessage {
    pub fn to(place: ChannelPlace, text: impl Into<String>) -> Self {
        Self { place, thread_id: None, text: text.into(), reply_to: None, buttons: Vec::new() }
    }

    /// What answers a message: to the same place and topic, as a reply to it.
    pub fn answering(message: &InboundMessage, text: impl Into<String>) -> Self {
        Self {
            thread_id: message.thread_id.clone(),
            reply_to: Some(message.message_id.clone()),
            ..Self::to(message.place.clone(), text)
        }
    }

    /// Whether every provider would take it.
    pub fn check(&self) -> Result<()> {
        let is_fine = |button: &Button| {
            (1..=BUTTON_LONGEST).contains(&button.data.len())
                && (1..=LABEL_LONGEST).contains(&button.label.chars().count())
                && !button.label.trim().is_empty()
        };
        if self.text.trim().is_empty() {
            return Err(Refusal::invalid_field("text", "a message to a channel has words"));
        }
        if self.buttons.len() > BUTTONS_MOST || !self.buttons.iter().all(is_fine) {
            let message = format!(
                "a message has at most {BUTTONS_MOST} buttons, each with 1 to {LABEL_LONGEST} characters to read and 1 \
                 to {BUTTON_LONGEST} bytes to carry"
            );
            return Err(Refusal::invalid_field("buttons", message));
        }
        Ok(())
    }
}

/// What is answered where the binding does not say: a bot of one's own is there for this alone.
pub fn usual_reply(channel: &str) -> Reply {
    if channel == "http" { Reply::All } else { Reply::Mention }
}

/// Whether a message is for the bot. `reply` is what the binding says.
pub fn is_for_us(message: &InboundMessage, reply: Option<Reply>) -> bool {
    let reply = reply.unwrap_or_else(|| usual_reply(&message.place.channel));
    message.chat == ChatType::Direct
        || reply == Reply::All
        || message.marks.is_addressed
        || matches!(message.kind, InboundKind::Press { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(channel: &str) -> ChannelPlace {
        ChannelPlace { channel: channel.to_owned(), chat_id: Some("-100".to_owned()), guild_id: None, channel_id: None }
    }

    fn heard(channel: &str, chat: ChatType, is_addressed: bool) -> InboundMessage {
        InboundMessage {
            account: "42".to_owned(),
            place: place(channel),
            thread_id: Some("7".to_owned()),
            chat,
            sender_id: Some("1111".to_owned()),
            display_name: DisplayName::new("Sean"),
            message_id: "5".to_owned(),
            update_id: None,
            text: "hello".to_owned(),
            kind: InboundKind::Message(None),
            marks: Marks { is_addressed, ..Marks::default() },
        }
    }

    #[test]
    fn in_groups_the_binding_says_what_is_answered_and_direct_words_always_are() {
        use ChatType::{Direct, Group};
        let cases = [
            ("telegram", Direct, false, Some(Reply::Mention), true),
            ("telegram", Group, false, None, false),
            ("telegram", Group, true, None, true),
            ("telegram", Group, false, Some(Reply::All), true),
            ("discord", Group, false, None, false),
            ("discord", Group, false, Some(Reply::Mention), false),
            ("http", Group, false, None, true),
            ("http", Group, false, Some(Reply::Mention), false),
        ];
        for (channel, chat, is_addressed, reply, expected) in cases {
            let message = heard(channel, chat, is_addressed);
            assert_eq!(is_for_us(&message, reply), expected, "{channel} {chat:?} {is_addressed} {reply:?}");
        }
        let press = InboundKind::Press { callback: CallbackId("1".to_owned()), data: "yes".to_owned() };
        assert!(is_for_us(&InboundMessage { kind: press, ..heard("telegram", Group, false) }, None));
    }

    #[test]
    fn an_answer_goes_where_the_message_came_from() {
        let answer = OutboundMessage::answering(&heard("telegram", ChatType::Group, true), "here");
        assert_eq!((answer.thread_id.as_deref(), answer.reply_to.as_deref()), (Some("7"), Some("5")));
        assert_eq!(answer.place, place("telegram"));
    }

    #[test]
    fn a_name_is_one_short_line_with_nothing_hidden() {
        assert_eq!(DisplayName::new("  Sean \n the\tadmin ").as_str(), "Sean the admin");
        assert_eq!(DisplayName::new("a\u{202e}nimda").as_str(), "a⟨U+202E⟩nimda");
        assert_eq!(DisplayName::new(&"x".repeat(5_000)).as_str().len(), 64);
    }

    #[test]
    fn a_callback_is_not_shown() {
        assert!(!format!("{:?}", CallbackId("secret".to_owned())).contains("secret"));
    }

    #[test]
    fn what_no_provider_would_take_is_refused_here() {
        let button = |label: &str, data: &str| Button { label: label.to_owned(), data: data.to_owned() };
        let fine = OutboundMessage::to(place("telegram"), "Shall I?");
        let with = |buttons: Vec<Button>| OutboundMessage { buttons, ..fine.clone() };
        assert!(fine.check().is_ok() && with(vec![button("Yes", "yes"); 5]).check().is_ok());
        let bad = [
            OutboundMessage { text: " \n".to_owned(), ..fine.clone() },
            with(vec![button("Yes", "")]),
            with(vec![button(" ", "yes")]),
            with(vec![button("Yes", &"y".repeat(65))]),
            with(vec![button(&"Y".repeat(41), "yes")]),
            with(vec![button("Yes", "yes"); 6]),
        ];
        for message in bad {
            assert!(message.check().is_err(), "{message:?}");
        }
    }
}
