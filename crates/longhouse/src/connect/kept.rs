//! Connections to the house that are kept from one request to the next. A node asks often and little; to open a connection for
//! each question takes longer than the answer.
//!
//! Everything a node says may be said twice, so what fails on a kept connection is said once more on a new one: the house may
//! have closed it long ago. What fails on a new connection has failed.

use crate::client::wire::{Address, Sender};
use anyhow::{Context, Result};
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use domain::times::Timestamp;
use http_body_util::BodyExt;
use std::sync::{Mutex, PoisonError};

/// As many as are used at once on a busy day.
const KEPT_MOST: usize = 8;
/// Sooner than those in between give up on a silent connection. By the clock on the wall: one that slept through the night is no
/// longer there either.
const SILENT_LONGEST_MS: i64 = 20_000;

pub(super) struct Kept {
    address: Address,
    idle: Mutex<Vec<(Sender, Timestamp)>>,
    clock: fn() -> Timestamp,
}

impl Kept {
    pub(super) fn new(address: Address, clock: fn() -> Timestamp) -> Self {
        Self { address, idle: Mutex::default(), clock }
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
        if let Some(sender) = self.take().await
            && let Ok(response) = self.on(sender, request.clone()).await
        {
            return Ok(response);
        }
        self.on(self.address.connect().await?, request).await
    }

    /// One that is free and still open, the last used first.
    async fn take(&self) -> Option<Sender> {
        loop {
            let (mut sender, since) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            let silent_ms = (self.clock)().as_ms() - since.as_ms();
            // Its last answer was read to the end, so this does not wait for anybody else.
            if (0..SILENT_LONGEST_MS).contains(&silent_ms) && sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    async fn on(&self, mut sender: Sender, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let request = self.address.addressed(request.map(Body::from))?;
        let response = sender.send_request(request).await.context("the server closed the connection")?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.context("the answer was cut off")?.to_bytes();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT_MOST && !sender.is_closed() {
            idle.push((sender, (self.clock)()));
        }
        Ok(Response::from_parts(parts, bytes))
    }
}

#[cfg(test)]
mod tests;
