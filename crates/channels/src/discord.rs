//! Discord: a bot that listens at the gateway and speaks over the REST API.

mod api;
mod events;
mod listening;
mod sending;

use crate::pauses::Timing;
use crate::running::Running;
use crate::states::Health;
use crate::{InvalidOptions, Outlet, Receiver, Secret, State, wire};
use api::Api;
use listening::Listening;
use sending::Voice;
use std::sync::Arc;
use tokio::sync::watch;

/// The address of the API, unless told otherwise.
const API_BASE: &str = "https://discord.com/api/v10";
const API_PATH: &str = "/api";
const API_VERSION: &str = "/v10";

#[derive(Debug, Clone)]
pub struct DiscordOptions {
    pub token: Secret,
    /// `https://discord.com/api/v10`; what is missing of the path is added.
    pub api_base: Option<String>,
    /// `wss://…`; Discord is asked for it if there is none.
    pub gateway_url: Option<String>,
    pub timing: Timing,
}

/// A bot at Discord. Ends with the value.
pub struct Discord {
    running: Running,
    state: watch::Receiver<State>,
    voice: Arc<Voice>,
}

impl Discord {
    /// Returns at once; how it goes on is in [`Discord::state`]. Needs a runtime.
    pub fn start(options: DiscordOptions, receiver: Arc<dyn Receiver>) -> Result<Self, InvalidOptions> {
        wire::check_token(&options.token)?;
        let base = versioned(wire::base(options.api_base.as_deref().unwrap_or(API_BASE), ["http", "https"])?);
        let gateway_url = options.gateway_url.map(|url| wire::base(&url, ["ws", "wss"])).transpose()?;
        let client = wire::client(&options.timing, &base)?;
        let api = Arc::new(Api::new(client, base, options.token, options.timing)?);
        let health = Health::new(events::CHANNEL);
        let state = health.watch();
        let listening = Listening { api: api.clone(), receiver, health: health.clone(), gateway_url };
        let running = Running::start(health, |stop| listening.run(stop));
        Ok(Self { running, state, voice: Arc::new(Voice::new(api)) })
    }

    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// The state with its changes.
    pub fn states(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    pub fn outlet(&self) -> Arc<dyn Outlet> {
        self.voice.clone()
    }

    /// Ends when everything has ended. A message that is being taken is taken.
    pub async fn stop(&self) {
        self.running.stop().await;
    }
}

/// An address that names the host alone, or stops before the version, means the version that we speak.
fn versioned(base: String) -> String {
    let path = base.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path);
    match path {
        None => base + API_PATH + API_VERSION,
        Some("api") => base + API_VERSION,
        Some(_) => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_an_api_may_be_left_out() {
        let whole = "https://discord.com/api/v10";
        for address in ["https://discord.com", "https://discord.com/", "https://discord.com/api", whole] {
            assert_eq!(versioned(wire::base(address, ["http", "https"]).unwrap()), whole);
        }
        for address in ["http://127.0.0.1:9/api/v11", "http://127.0.0.1:9/discord"] {
            assert_eq!(versioned(address.to_owned()), address);
        }
    }
}
