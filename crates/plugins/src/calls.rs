//! One call of a plugin's tool. Whoever calls has decided that it may be made; here it is only made, once, within its time.

use crate::error::{Error, Result};
use crate::http::{is_not_reached, words_of};
use crate::outcomes::Outcome;
use crate::plugins::Plugins;
use crate::slots::{Link, Slot};
use domain::plugins::Fingerprint;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub struct Call<'a> {
    pub plugin: &'a str,
    /// As it is listed, `k8s.get`.
    pub tool: &'a str,
    /// The tool that the caller knows; of another one of that name nothing is called.
    pub fingerprint: &'a Fingerprint,
    pub arguments: Map<String, Value>,
}

/// Counts who waits for a turn, however the wait ends.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Plugins {
    /// Makes a call, and ends when it is answered, its time is over, its plugin goes away, or `cancel` ends. Dropped, it is
    /// cancelled as well: the plugin is told.
    pub async fn call(&self, call: Call<'_>, cancel: impl Future<Output = ()>) -> Result<Outcome> {
        let slot = self.board.slot(call.plugin).ok_or(Error::NoSuchTool)?;
        self.check_size(&call)?;
        let within = Duration::from_secs(slot.declaration().timeouts.call_s);
        let deadline = Instant::now() + within;
        tokio::pin!(cancel);
        let _turn = tokio::select! {
            biased;
            () = &mut cancel => return Err(Error::Cancelled { was_sent: false }),
            turn = self.turn(&slot, deadline) => turn?,
        };
        // After the wait: what was true before it need not be now.
        let (link, own_name) = self.ready(&slot, &call)?;
        let params = CallToolRequestParams::new(own_name).with_arguments(call.arguments);
        let plugin = || slot.name.clone();
        tokio::select! {
            biased;
            answer = link.peer.call_tool_once(params) => self.outcome(&slot, &link, answer),
            why = link.closing.closed() => Err(Error::Interrupted { plugin: plugin(), why }),
            () = &mut cancel => Err(Error::Cancelled { was_sent: true }),
            () = tokio::time::sleep_until(deadline) => Err(Error::Overdue { plugin: plugin(), within }),
        }
    }

    fn check_size(&self, call: &Call<'_>) -> Result<()> {
        let most = self.options.limits.arguments_bytes;
        let bytes = serde_json::to_vec(&call.arguments).map_or(usize::MAX, |json| json.len());
        if bytes > most { Err(Error::ArgumentsTooLarge { most }) } else { Ok(()) }
    }

    /// One of the calls that the plugin takes at once.
    async fn turn<'a>(&self, slot: &'a Slot, deadline: Instant) -> Result<SemaphorePermit<'a>> {
        let busy = || Error::Busy { plugin: slot.name.clone() };
        if let Ok(turn) = slot.turns.try_acquire() {
            return Ok(turn);
        }
        if slot.waiting.fetch_add(1, Ordering::SeqCst) >= self.options.limits.calls_waiting {
            slot.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(busy());
        }
        let _waiting = Waiting(&slot.waiting);
        match tokio::time::timeout_at(deadline, slot.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(busy()),
        }
    }

    /// The connection, and what the plugin calls the tool: of one moment, so that the tool that was compared is the one that
    /// is called.
    fn ready(&self, slot: &Slot, call: &Call<'_>) -> Result<(Link, String)> {
        let listing = self.board.listing();
        let known = slot.known();
        let unavailable = |why| Error::Unavailable { plugin: slot.name.clone(), why };
        let link = known.link.clone().ok_or_else(|| unavailable(known.state.why()))?;
        // It may be gone, and its supervisor not know yet.
        link.closing.reason().map_or(Ok(()), |why| Err(unavailable(why)))?;
        let offer = listing.tool(&slot.name, call.tool).ok_or(Error::NoSuchTool)?;
        let listed = known.tools.listed.iter().find(|tool| tool.name == offer.own_name).ok_or(Error::Changed)?;
        let now = Fingerprint::of(&listed.name, listed.description.as_deref(), &listed.schema);
        if now != *call.fingerprint {
            return Err(Error::Changed);
        }
        Ok((link, offer.own_name.clone()))
    }

    fn outcome(
        &self,
        slot: &Slot,
        link: &Link,
        answer: std::result::Result<CallToolResponse, ServiceError>,
    ) -> Result<Outcome> {
        let most = self.options.limits.result_bytes;
        let error = match answer {
            Ok(CallToolResponse::Complete(result)) => return Ok(Outcome::of(&result, most)),
            Ok(_) => return Ok(Outcome::failed("the plugin wants something that the house does not give", most)),
            Err(ServiceError::McpError(refusal)) => return Ok(Outcome::of_refusal(&refusal, most)),
            Err(ServiceError::UnexpectedResponse) => {
                return Ok(Outcome::failed("the plugin's answer is in no known form", most));
            }
            Err(error) => error,
        };
        let plugin = slot.name.clone();
        let (why, nothing_was_sent) = match &error {
            ServiceError::TransportSend(sending) => (words_of(sending), is_not_reached(sending)),
            _ => ("its connection ended".to_owned(), false),
        };
        // Whoever noticed it first knows more.
        let why = link.closing.reason().unwrap_or(why);
        // It has to begin anew before anybody else relies on it.
        link.closing.close(why.clone());
        if nothing_was_sent { Err(Error::Unavailable { plugin, why }) } else { Err(Error::Interrupted { plugin, why }) }
    }
}
