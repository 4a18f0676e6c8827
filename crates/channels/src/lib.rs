//! Channels: what people write elsewhere becomes an [`domain::channels::InboundMessage`], and answers go back.
//!
//! Nothing here knows users, workspaces, agents or rows: a message is handed to a [`Receiver`], words are given to an
//! [`Outlet`], and whether anybody may say or hear something is decided elsewhere. What a provider sends is bounded and
//! never trusted to be whole; a bot's token is in no log, no error and no `Debug`, and follows no redirect.

mod discord;
mod error;
mod lanes;
mod lossy;
mod outlets;
mod pauses;
mod receivers;
mod running;
mod secrets;
mod states;
mod telegram;
mod wire;

pub use discord::{Discord, DiscordOptions};
pub use error::{Error, InvalidOptions, Result};
pub use outlets::{Outlet, Sent};
pub use pauses::Timing;
pub use receivers::{Receiver, Taken};
pub use secrets::Secret;
pub use states::State;
pub use telegram::{Mode, Telegram, TelegramOptions, WebhookAnswer};
