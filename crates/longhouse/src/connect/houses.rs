//! The house of a node, over HTTP.

use super::identities::{self, Identity};
use super::kept::Kept;
use crate::client::wire::Address;
use crate::client::{Refused, refusal};
use anyhow::{Context, Result};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use node::{House, HouseError};
use protocol::nodes::PairNode;
use protocol::tool_calls::{AcceptCall, CallResult, Preview, ToolCall, ToolCallList};
use serde::Serialize;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Long enough for the largest result on a slow line.
const PATIENCE: Duration = Duration::from_secs(120);

/// Shared by the loop that works and the one that listens: every clone is the same connection.
#[derive(Clone)]
pub(super) struct Connection(Arc<Parts>);

struct Parts {
    kept: Kept,
    identity: Identity,
    token: Mutex<Option<HeaderValue>>,
}

impl Connection {
    pub(super) fn new(address: Address, identity: Identity) -> Self {
        Self(Arc::new(Parts { kept: Kept::new(address, super::now), identity, token: Mutex::default() }))
    }

    /// Gets a token for the key.
    pub(super) async fn sign_in(&self) -> Result<()> {
        let (node, key) = (Some(self.0.identity.node.clone()), Some(self.0.identity.key.clone()));
        let (_, pairing) =
            identities::ask(self.0.kept.address(), &PairNode { node, key, ..PairNode::default() }, None).await?;
        let token = pairing.token.context("the house let it in without a token")?;
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))?;
        value.set_sensitive(true);
        *self.0.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        Ok(())
    }

    /// What is to be heard of the calls of this node, over a connection of its own.
    pub(super) async fn stream(&self) -> Result<Body> {
        let opened = tokio::time::timeout(PATIENCE, self.signed(Method::GET, "/my/events", None, Kept::open)).await;
        let response = opened.context("the house did not answer in time")??;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let status = response.status();
        let bytes = response.into_body().collect().await.context("the answer was cut off")?.to_bytes();
        Err(refusal(status, &serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// The network has changed, or the house.
    pub(super) fn drop_kept(&self) {
        self.0.kept.drop_idle();
    }

    /// Sends a request; one whose token has run out is sent again with a new one.
    async fn signed<'a, B, F>(
        &'a self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        send: fn(&'a Kept, Request<Bytes>) -> F,
    ) -> Result<Response<B>>
    where
        F: Future<Output = Result<Response<B>>>,
    {
        let response = send(&self.0.kept, self.request(&method, path, body.clone())?).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        self.sign_in().await?;
        send(&self.0.kept, self.request(&method, path, body)?).await
    }

    fn request(&self, method: &Method, path: &str, body: Option<Bytes>) -> Result<Request<Bytes>> {
        let token = self.0.token.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut request = Request::builder().method(method).uri(path);
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, token);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        Ok(request.body(body.unwrap_or_default())?)
    }

    async fn answer(&self, method: Method, path: &str, body: Option<Bytes>) -> Result<Value> {
        let response = self.signed(method, path, body, Kept::exchange).await?;
        if response.status().is_success() {
            return Ok(serde_json::from_slice(response.body())?);
        }
        Err(refusal(response.status(), &serde_json::from_slice(response.body()).unwrap_or_default()))
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Bytes>) -> Result<Value, HouseError> {
        let told = tokio::time::timeout(PATIENCE, self.answer(method, path, body)).await;
        let told = told.context("the house did not answer in time").flatten();
        told.map_err(|error| match error.downcast::<Refused>() {
            // It may be better in a moment.
            Ok(refused)
                if matches!(
                    refused.code.as_str(),
                    "RATE_LIMITED" | "QUEUE_FULL" | "UNAVAILABLE" | "STORAGE_FULL" | "INTERNAL"
                ) =>
            {
                HouseError::Unreachable(refused.to_string())
            }
            Ok(Refused { code, message, .. }) => HouseError::Refused { code, message },
            Err(error) => HouseError::Unreachable(format!("{error:#}")),
        })
    }

    async fn say(&self, call: &ToolCall, what: &str, body: &impl Serialize) -> Result<(), HouseError> {
        let path = format!("/my/projects/{}/tools/{}/{what}", call.project, call.id);
        let body = serde_json::to_vec(body).map_err(|error| HouseError::Unreachable(error.to_string()))?;
        self.ask(Method::POST, &path, Some(body.into())).await.map(|_| ())
    }
}

impl House for Connection {
    async fn open_calls(&self) -> Result<Vec<ToolCall>, HouseError> {
        // One that serves a workspace is asked by any of its projects' ids; its own list is the same for all.
        let project = self.0.identity.project.as_deref().unwrap_or("prj_any");
        let answer = self.ask(Method::GET, &format!("/my/projects/{project}/tools"), None).await?;
        let list: ToolCallList =
            serde_json::from_value(answer).map_err(|error| HouseError::Unreachable(error.to_string()))?;
        Ok(list.items)
    }

    async fn status_of(&self, project: &str, call: &str) -> Result<String, HouseError> {
        let answer = self.ask(Method::GET, &format!("/my/projects/{project}/tools/{call}"), None).await?;
        let status = answer["status"].as_str().map(str::to_owned);
        status.ok_or_else(|| HouseError::Unreachable("the house answered something else".to_owned()))
    }

    async fn preview(&self, call: &ToolCall, preview: &Preview) -> Result<(), HouseError> {
        self.say(call, "preview", preview).await
    }

    async fn accept(&self, call: &ToolCall, asked: &AcceptCall) -> Result<(), HouseError> {
        self.say(call, "accept", asked).await
    }

    async fn result(&self, call: &ToolCall, result: &CallResult) -> Result<(), HouseError> {
        self.say(call, "result", result).await
    }
}
