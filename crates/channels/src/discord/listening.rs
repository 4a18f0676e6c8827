//! The gateway: the library keeps the connection, its heartbeats and its session; what arrives is read and handed over.
//!
//! Whoever reads the connection never waits for the house: a connection that is not read is not kept alive. Messages wait
//! in a short line. Once it is full nothing more is read, Discord ends the connection, and tells the rest again after the
//! session was resumed. Messages that were read and not yet taken are lost with the process: Discord has no memory of
//! what a bot has done with them.

mod sessions;

use super::api::Api;
use super::events;
use crate::pauses::Pauses;
use crate::running::Stop;
use crate::states::Health;
use crate::{Error, Receiver, Result, Taken, wire};
use domain::channels::InboundMessage;
use reqwest::Method;
use serde::Deserialize;
use sessions::{Ended, Session};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use twilight_gateway::queue::InMemoryQueue;

const WAITING_MOST: usize = 256;
/// How long is waited before a session begins anew that Discord ended for good: only somebody at Discord can help it.
const HOPELESS_PAUSE: Duration = Duration::from_secs(60);

pub(super) struct Listening {
    pub(super) api: Arc<Api>,
    pub(super) receiver: Arc<dyn Receiver>,
    pub(super) health: Health,
    pub(super) gateway_url: Option<String>,
}

/// The bot itself, and where and how often it may connect.
struct Introduction {
    me: String,
    gateway_url: String,
    queue: InMemoryQueue,
}

#[derive(Deserialize)]
struct Me {
    id: String,
}

#[derive(Deserialize)]
struct Gateway {
    url: String,
    session_start_limit: StartLimit,
}

#[derive(Deserialize)]
struct StartLimit {
    total: u32,
    remaining: u32,
    /// Milliseconds.
    reset_after: u64,
    max_concurrency: u16,
}

impl Listening {
    /// Until it is asked to stop.
    pub(super) async fn run(self, stop: Stop) {
        let (line, waiting) = mpsc::channel(WAITING_MOST);
        tokio::join!(self.read(line, stop.clone()), self.hand_over(waiting, stop));
    }

    /// None when it was asked to stop.
    async fn read(&self, line: mpsc::Sender<InboundMessage>, mut stop: Stop) -> Option<Infallible> {
        let mut pauses = Pauses::of(&self.api.timing);
        loop {
            let pause = match stop.or(self.introduce()).await? {
                Ok(introduction) => match self.session(introduction, line.clone(), &stop).await? {
                    Ended::ForGood => HOPELESS_PAUSE.min(self.api.timing.longest_pause),
                    Ended::Suddenly => pauses.next(),
                },
                Err(error) => {
                    self.health.failing(error.to_string());
                    pauses.after(&error)
                }
            };
            stop.sleep(pause).await?;
        }
    }

    async fn introduce(&self) -> Result<Introduction> {
        let me: Me = self.api.call(Method::GET, "/users/@me", None).await?.result;
        if !events::is_number(&me.id) {
            return Err(Error::Garbled("the bot has no number"));
        }
        let Some(gateway_url) = self.gateway_url.clone() else {
            let gateway: Gateway = self.api.call(Method::GET, "/gateway/bot", None).await?.result;
            // The token goes there too: from a secure address nobody is led to another kind.
            let schemes = if self.api.is_secure() { ["wss", "wss"] } else { ["ws", "wss"] };
            let gateway_url = wire::base(&gateway.url, schemes).map_err(|_| Error::Garbled("it names no gateway"))?;
            wire::check_named(&gateway_url, self.api.base()).await?;
            return Ok(Introduction { me: me.id, gateway_url, queue: gateway.session_start_limit.queue() });
        };
        Ok(Introduction { me: me.id, gateway_url, queue: InMemoryQueue::default() })
    }

    /// In a task of its own: what the library makes of a strange address is a panic.
    async fn session(
        &self,
        introduction: Introduction,
        line: mpsc::Sender<InboundMessage>,
        stop: &Stop,
    ) -> Option<Ended> {
        let (api, health, stop) = (self.api.clone(), self.health.clone(), stop.clone());
        let session = async move { Session::new(&api, introduction, health, line).run(stop).await };
        match tokio::spawn(session).await {
            Ok(ended) => ended,
            Err(_) => {
                self.health.failing("the connection to the gateway broke down");
                Some(Ended::Suddenly)
            }
        }
    }

    /// Everything that waits, in order, until nobody adds to it any more.
    async fn hand_over(&self, mut waiting: mpsc::Receiver<InboundMessage>, mut stop: Stop) -> Option<()> {
        while let Some(message) = waiting.recv().await {
            let mut pauses = Pauses::of(&self.api.timing);
            let mut is_late = false;
            while self.receiver.receive(message.clone()).await == Taken::NotNow {
                is_late = true;
                self.health.failing("the house does not take messages");
                stop.sleep(pauses.next()).await?;
            }
            if is_late {
                self.health.well();
            }
        }
        Some(())
    }
}

impl StartLimit {
    fn queue(&self) -> InMemoryQueue {
        // The library insists on both.
        let (remaining, concurrency) = (self.remaining.min(self.total), self.max_concurrency.max(1));
        InMemoryQueue::new(concurrency, remaining, Duration::from_millis(self.reset_after), self.total)
    }
}
