//! For tests only: a house in a temporary folder with a clock that the test turns, and short words for asking it.
//!
//! Everything goes in by the front door (`api::Entrance`), so that a story test passes the same checks as a client.
//! Whatever goes wrong here is a broken test, so it panics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod asks;
mod clock;
mod cut_readers;
mod engines;
mod imitated_api;
mod imitated_discord;
mod imitated_provider;
mod imitated_telegram;
mod ledgers;
mod logs;
mod nodes;
mod notices;
mod plugins;
mod projects;
mod random;
mod streams;
mod tasks;
mod teams;
mod wire_http;
mod world;

pub use answers::Answer;
pub use asks::Ask;
pub use clock::TurnedClock;
pub use cut_readers::{CutReader, Line};
pub use engines::{new_storage, on_postgres};
pub use imitated_api::{ApiFault, ApiRequest};
pub use imitated_discord::ImitatedDiscord;
pub use imitated_provider::{Fault, ImitatedProvider, ModelRequest, Turn};
pub use imitated_telegram::{ImitatedTelegram, SentMessage};
pub use ledgers::{damage_ledger_row, ledger_row, miscounted_days, workspace_events};
pub use logs::{keep_logs, kept_logs};
pub use nodes::{HandNode, NODE_KEY, NODE_KEY_HASH};
pub use plugins::{PluginTurn, ScriptedPlugins, object_schema};
pub use random::Random;
pub use streams::{Events, StreamEvent};
pub use world::{World, provided_by};
