//! Connections to the house that are kept from one request to the next. A node asks often and little; to open a connection for
//! each question takes longer than the answer.
//!
//! Everything a node says may be said twice, so what fails on a kept connection, or is not answered soon, is said once more on a
//! new one: the house may have closed it long ago. What fails on a new connection has failed.

use crate::client::wire::{Address, Sender};
use anyhow::{Context, Result};
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use domain::times::Timestamp;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// As many as are used at once on a busy day.
const KEPT_MOST: usize = 8;
/// Sooner than those in between give up on a silent connection. By the clock on the wall: one that slept through the night is no
/// longer there either.
const SILENT_LONGEST_MS: i64 = 20_000;
/// How long an answer may take to begin on a kept connection. One that leads nowhere, after the machine has changed its network,
/// looks like one that is slow; what is lost by asking anew is little.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// What is larger takes its time on a slow line, and goes over a new connection.
const SMALL_BYTES: usize = 64 * 1024;

pub(super) struct Kept {
    address: Address,
    idle: Mutex<Vec<(Sender, Timestamp)>>,
    head_within: Duration,
    clock: fn() -> Timestamp,
}

impl Kept {
    pub(super) fn new(address: Address, clock: fn() -> Timestamp) -> Self {
        Self { address, idle: Mutex::default(), head_within: HEAD_WITHIN, clock }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// A request whose answer goes on and on, over a connection of its own.
    pub(super) async fn open(&self, request: Request<Bytes>) -> Result<Response<Body>> {
        self.address.send(request.map(Body::from)).await
    }

    /// A request and its whole answer.
    pub(super) async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        if request.body().len() <= SMALL_BYTES
            && let Some(mut sender) = self.take().await
        {
            let head = self.head(&mut sender, request.clone());
            match tokio::time::timeout(self.head_within, head).await {
                Ok(Ok(head)) => {
                    if let Ok(response) = self.rest(sender, head).await {
                        return Ok(response);
                    }
                }
                Ok(Err(_)) => {}
                // The others went the same way through a network that is no longer there.
                Err(_) => self.drop_idle(),
            }
        }
        let mut sender = self.address.connect().await?;
        let head = self.head(&mut sender, request).await?;
        self.rest(sender, head).await
    }

    pub(super) fn drop_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Sender, Timestamp)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that is free and still open, the last used first.
    async fn take(&self) -> Option<Sender> {
        loop {
            let (mut sender, since) = self.idle().pop()?;
            let silent_ms = (self.clock)().as_ms() - since.as_ms();
            // Its last answer was read to the end, so this does not wait for anybody else.
            if (0..SILENT_LONGEST_MS).contains(&silent_ms) && sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    async fn head(&self, sender: &mut Sender, request: Request<Bytes>) -> Result<Response<Incoming>> {
        let request = self.address.addressed(request.map(Body::from))?;
        sender.send_request(request).await.context("the server closed the connection")
    }

    /// What follows the head. A connection whose answer was read to its end is kept.
    async fn rest(&self, sender: Sender, head: Response<Incoming>) -> Result<Response<Bytes>> {
        let (parts, body) = head.into_parts();
        let bytes = body.collect().await.context("the answer was cut off")?.to_bytes();
        let mut idle = self.idle();
        if idle.len() < KEPT_MOST && !sender.is_closed() {
            idle.push((sender, (self.clock)()));
        }
        Ok(Response::from_parts(parts, bytes))
    }
}

#[cfg(test)]
pub(super) mod tests;
