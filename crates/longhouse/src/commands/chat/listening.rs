//! The session's stream, found again when it is cut.

use super::rooms::Room;
use crate::client::Refused;
use crate::client::events::Events;
use anyhow::Result;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// A server that lives is heard of every fifteen seconds.
const QUIET_LONGEST: Duration = Duration::from_secs(45);
/// How long a server that has gone is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// There is no server any more.
#[derive(Debug)]
pub(super) struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server has gone: what became of the message is in the session once it is back")
    }
}

impl std::error::Error for Lost {}

pub(super) struct Listening {
    events: Events,
    /// The last event that had a number.
    last: Option<u64>,
}

impl Listening {
    /// From now on. What is said after this returns is heard.
    pub(super) async fn begin(room: &Room<'_>) -> Result<Self> {
        let body = timeout(PATIENCE, room.stream(None)).await.map_err(|_| Lost)??;
        Ok(Self { events: Events::new(body), last: None })
    }

    /// The next event that says something; `None` when the stream was cut.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            let event = timeout(QUIET_LONGEST, self.events.next()).await.ok()??;
            self.last = event.id.and_then(|id| id.parse().ok()).or(self.last);
            if let Ok(data) = serde_json::from_str(&event.data) {
                return Some(data);
            }
        }
    }

    /// Goes on after the last event that was heard, if there is a server soon.
    pub(super) async fn resume(&mut self, room: &Room<'_>) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match timeout(PATIENCE, room.stream(self.last)).await {
                Ok(Ok(body)) => {
                    self.events = Events::new(body);
                    return Ok(());
                }
                Ok(Err(error)) if error.is::<Refused>() => return Err(error),
                _ if Instant::now() + PAUSE > deadline => return Err(Lost.into()),
                _ => sleep(PAUSE).await,
            }
        }
    }
}
