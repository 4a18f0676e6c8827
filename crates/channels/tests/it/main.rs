//! The adapters against imitations of the providers, over real connections.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod discord_faults;
mod discord_talks;
mod scenes;
mod secrets;
mod telegram_faults;
mod telegram_talks;
mod telegram_webhooks;
