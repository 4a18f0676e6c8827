//! The way to the collector: one request over one connection, as every client of this binary does it.

use crate::client::wire::Address;
use anyhow::{Context, Result};
use async_trait::async_trait;
use axum::body::Body;
use http_body_util::{BodyExt, Limited};
use hyper::http::uri::PathAndQuery;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_LARGEST_BYTES: usize = 64 * 1024;

pub(super) struct Collector {
    address: Address,
    runtime: Handle,
    trouble: Trouble,
}

/// Whether the collector fails, as far as it was said.
#[derive(Clone, Default)]
pub(super) struct Trouble(Arc<AtomicBool>);

impl Trouble {
    /// Says once that it fails, and once that it works again.
    pub(super) fn note(&self, trouble: Option<String>) {
        let was_failing = self.0.swap(trouble.is_some(), Ordering::Relaxed);
        match trouble {
            Some(trouble) if !was_failing => {
                tracing::warn!(trouble, "the collector does not take traces; they are lost until it does");
            }
            None if was_failing => tracing::info!("the collector takes traces again"),
            _ => {}
        }
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Collector")
    }
}

impl Collector {
    pub(super) fn new(address: Address, runtime: Handle, trouble: Trouble) -> Self {
        Self { address, runtime, trouble }
    }
}

fn trouble_with(answer: &Result<Response<Bytes>>) -> Option<String> {
    match answer {
        Ok(answer) if answer.status().is_success() => None,
        Ok(answer) => Some(format!("it answered {}", answer.status())),
        Err(error) => Some(error.to_string()),
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let address = self.address.clone();
        // The thread that asks for this has no runtime of its own.
        let sending = self.runtime.spawn(async move {
            let sent = tokio::time::timeout(ANSWER_WITHIN, send(address, request)).await;
            sent.context("it did not answer in time")?
        });
        let sent = sending.await;
        let answer = sent.context("this process is ending").flatten();
        self.trouble.note(trouble_with(&answer));
        Ok(answer?)
    }
}

async fn send(address: Address, request: Request<Bytes>) -> Result<Response<Bytes>> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    parts.uri = path.into();
    let (parts, body) = address.send(Request::from_parts(parts, Body::from(body))).await?.into_parts();
    let body = Limited::new(body, ANSWER_LARGEST_BYTES).collect().await;
    let body = body.map_err(|_| anyhow::anyhow!("its answer was cut off, or is too long"))?;
    Ok(Response::from_parts(parts, body.to_bytes()))
}
