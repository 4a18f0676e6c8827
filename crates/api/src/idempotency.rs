//! Idempotency keys as they come in: a header, or a field of the body.

use crate::errors::Result;
use axum::http::{HeaderMap, Uri};
use data_encoding::HEXLOWER;
use domain::Refusal;
use serde_json::{Map, Value};
use service::Ctx;
use sha2::{Digest, Sha256};

const HEADER: &str = "idempotency-key";
const FIELD: &str = "idempotency_key";
const LONGEST: usize = 255;
const ADDRESS_LONGEST: usize = 512;

fn check(key: &str) -> Result<String> {
    if (1..=LONGEST).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Ok(key.to_owned());
    }
    Err(Refusal::invalid_field(FIELD, format!("an idempotency key has 1 to {LONGEST} printable ASCII characters"))
        .into())
}

pub(crate) fn header_key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    check(value.to_str().unwrap_or("")).map(Some)
}

/// Takes the key out of a body, where it counts like the header.
pub(crate) fn field_key(body: &mut Map<String, Value>) -> Result<Option<String>> {
    match body.remove(FIELD) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(key)) => check(&key).map(Some),
        Some(_) => Err(Refusal::invalid_field(FIELD, format!("`{FIELD}` must be text")).into()),
    }
}

/// A request has one key, wherever it stands.
pub(crate) fn one_key(field: Option<String>, header: Option<String>) -> Result<Option<String>> {
    if field.is_some() && header.is_some() && field != header {
        let message = "the header and the body have different idempotency keys: send one";
        return Err(Refusal::invalid_field(FIELD, message).into());
    }
    Ok(field.or(header))
}

/// An address is stored as it is unless it is too long for an index.
fn route(path: &str) -> String {
    if path.len() <= ADDRESS_LONGEST {
        return format!("POST {path}");
    }
    format!("POST sha256 {}", HEXLOWER.encode(&Sha256::digest(path.as_bytes())))
}

/// The same caller, address (with its query) and key mean the same request; the same body, the same wish.
pub(crate) fn claim(ctx: &Ctx, uri: &Uri, key: String, body: &Map<String, Value>) -> service::idempotency::Claim {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    // Written anew in a fixed order, so that spaces and the place of the key do not matter.
    let mut body = body.clone();
    // How long somebody waits is no part of what they want done.
    body.remove("wait_s");
    let body = Value::Object(body).to_string();
    service::idempotency::Claim {
        caller: format!("{}/{}/{:?}", ctx.caller.user, ctx.caller.participant, ctx.caller.credential),
        route: route(path),
        key,
        body_hash: HEXLOWER.encode(&Sha256::digest(body.as_bytes())),
    }
}
