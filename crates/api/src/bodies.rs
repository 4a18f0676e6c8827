//! Request bodies: bounded in size and time, JSON only, strictly read.

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::signed::Signed;
use crate::{idempotency, strict_json};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::{HeaderMap, header};
use domain::{Code, Refusal};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use service::Ctx;
use std::time::Duration;

pub(crate) const LARGEST: usize = 1024 * 1024;
/// What a tool writes or brings back.
const LARGEST_WITH_FILES: usize = 16 * 1024 * 1024;
/// A code or a token is all that somebody unknown has to say.
const LARGEST_ANONYMOUS: usize = 16 * 1024;
const SLOWEST: Duration = Duration::from_secs(30);

/// A signed request with a JSON object for a body, its idempotency key already taken out.
pub(crate) struct Posted<T> {
    pub(crate) ctx: Ctx,
    pub(crate) input: T,
}

/// A body in which nothing is to be said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A body as the bare object, for doors that parse it themselves.
pub(crate) struct Envelope(pub(crate) Map<String, Value>);

/// The same for what brings files along.
pub(crate) struct PostedLarge<T>(pub(crate) Posted<T>);

impl<T: FromObject> FromRequest<App> for PostedLarge<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        Posted::up_to(LARGEST_WITH_FILES, request, app).await.map(Self)
    }
}

impl<T: FromObject> FromRequest<App> for Posted<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        Self::up_to(LARGEST, request, app).await
    }
}

impl<T: FromObject> Posted<T> {
    async fn up_to(largest: usize, request: Request, app: &App) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        // Who asks comes first: a stranger's body is not even read.
        let Signed { mut ctx, .. } = Signed::from_request_parts(&mut parts, app).await?;
        let bytes = read(&parts.headers, body, largest).await?;
        let mut object = object(&bytes)?;
        let key = idempotency::one_key(idempotency::field_key(&mut object)?, idempotency::header_key(&parts.headers)?)?;
        ctx.claim = key.map(|key| idempotency::claim(&ctx, &parts.uri, key, &object));
        Ok(Self { ctx, input: T::from_object(object)? })
    }
}

/// A signed change with a JSON object for a body. Saying it twice makes no difference: it needs no idempotency key.
pub(crate) struct Patched<T> {
    pub(crate) ctx: Ctx,
    pub(crate) input: T,
}

impl<T: FromObject> FromRequest<App> for Patched<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let Signed { ctx, .. } = Signed::from_request_parts(&mut parts, app).await?;
        let bytes = read(&parts.headers, body, LARGEST).await?;
        Ok(Self { ctx, input: T::from_object(object(&bytes)?)? })
    }
}

/// A body from somebody not signed in.
pub(crate) async fn anonymous<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T> {
    let bytes = read(headers, body, LARGEST_ANONYMOUS).await?;
    Ok(strict_json::fit(Value::Object(object(&bytes)?))?)
}

/// What a body can become.
pub(crate) trait FromObject: Sized {
    fn from_object(object: Map<String, Value>) -> Result<Self>;
}

impl FromObject for Envelope {
    fn from_object(object: Map<String, Value>) -> Result<Self> {
        Ok(Self(object))
    }
}

impl<T: DeserializeOwned> FromObject for T {
    fn from_object(object: Map<String, Value>) -> Result<Self> {
        Ok(strict_json::fit(Value::Object(object))?)
    }
}

/// An empty body stands for an object in which everything is left out.
fn object(bytes: &[u8]) -> Result<Map<String, Value>> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match strict_json::parse(bytes)? {
        Value::Object(object) => Ok(object),
        _ => Err(Refusal::invalid_field("body", "the body must be a JSON object").into()),
    }
}

pub(crate) async fn read(headers: &HeaderMap, body: Body, largest: usize) -> Result<Bytes> {
    let too_large = || {
        let message = format!("the body is larger than {largest} bytes");
        Failure(Refusal::new(Code::PayloadTooLarge, message).with("max_bytes", largest))
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > largest) {
        return Err(too_large());
    }
    let collected = tokio::time::timeout(SLOWEST, Limited::new(body, largest).collect()).await;
    let collected = collected.map_err(|_| Refusal::invalid("the body did not arrive within 30 seconds"))?;
    let bytes = match collected {
        Ok(collected) => collected.to_bytes(),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => return Err(too_large()),
        Err(_) => return Err(Refusal::invalid("the body was cut off").into()),
    };
    if !bytes.is_empty() && !is_json(headers) {
        let message = "the body must be JSON: send Content-Type: application/json";
        return Err(Refusal::new(Code::UnsupportedMediaType, message).into());
    }
    Ok(bytes)
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = text.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}
