//! Authentication at the door: the credential becomes a `Ctx`, and only here.

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::hosts::check_same_origin;
use crate::router::{Door, Peer};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use domain::{Code, Refusal};
use service::Ctx;
use service::authority::{self, LocalActor, SignedIn};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

pub(crate) const COOKIE: &str = "longhouse";
/// On the house's own machine the command line says for whom it acts. Ignored everywhere else.
pub(crate) const LOCAL_USER: &str = "x-longhouse-user";
pub(crate) const LOCAL_PARTICIPANT: &str = "x-longhouse-participant";
/// With an agent or a session it acts as a token for them would, and reaches nothing else.
pub(crate) const LOCAL_AGENT: &str = "x-longhouse-agent";
pub(crate) const LOCAL_SESSION: &str = "x-longhouse-session";
pub(crate) const LOCAL_WORKSPACE: &str = "x-longhouse-workspace";

/// A caller who was let in.
pub(crate) struct Signed {
    pub(crate) ctx: Ctx,
    pub(crate) signed_in: Arc<SignedIn>,
}

impl FromRequestParts<App> for Signed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let signed_in = sign_in(parts, app).await?;
        let ctx = Ctx::new(app.house.clone(), &signed_in);
        Ok(Self { ctx, signed_in })
    }
}

async fn sign_in(parts: &Parts, app: &App) -> Result<Arc<SignedIn>> {
    // A token says who acts on the house's own machine, too: with one, nobody is taken for the operator.
    if parts.extensions.get::<Door>() == Some(&Door::Local) && !parts.headers.contains_key(header::AUTHORIZATION) {
        return local_sign_in(parts, app).await;
    }
    let (token, from_cookie) = credential(&parts.headers)?;
    if from_cookie && !matches!(parts.method, Method::GET | Method::HEAD) {
        check_same_origin(&parts.headers, &app.public_url)?;
    }
    match authority::authenticate(&app.house, token).await {
        Ok(signed_in) => {
            if let Some(id) = &signed_in.token {
                app.limits.caller(id.as_str())?;
            }
            Ok(signed_in)
        }
        Err(error) => {
            if error.code() == Code::Unauthenticated {
                app.limits.invalid_bearer(peer(parts))?;
            }
            Err(error.into())
        }
    }
}

async fn local_sign_in(parts: &Parts, app: &App) -> Result<Arc<SignedIn>> {
    let actor = LocalActor {
        user: local(parts, LOCAL_USER)?,
        participant: local(parts, LOCAL_PARTICIPANT)?,
        agent: local(parts, LOCAL_AGENT)?,
        session: local(parts, LOCAL_SESSION)?,
        workspace: local(parts, LOCAL_WORKSPACE)?,
    };
    Ok(authority::operator(&app.house, actor).await?)
}

/// What the command line says about itself; an unreadable word is not the same as none.
fn local<'p>(parts: &'p Parts, name: &str) -> Result<Option<&'p str>> {
    let refusal = || Refusal::invalid_field(name, format!("`{name}` is not plain text"));
    Ok(parts.headers.get(name).map(|value| value.to_str().map_err(|_| refusal())).transpose()?)
}

pub(crate) fn peer(parts: &Parts) -> IpAddr {
    parts.extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0)
}

/// The token of a request, and whether a browser's cookie brought it.
fn credential(headers: &HeaderMap) -> Result<(&str, bool)> {
    let unauthenticated = |message: &str| Failure(Refusal::new(Code::Unauthenticated, message));
    if headers.get_all(header::AUTHORIZATION).iter().nth(1).is_some() {
        return Err(unauthenticated("one Authorization header, please: two do not say who you are"));
    }
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let text = value.to_str().ok().and_then(|text| text.split_once(' '));
        return match text {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok((token.trim(), false)),
            _ => Err(unauthenticated("the Authorization header must be: Bearer <token>")),
        };
    }
    cookie(headers)
        .map(|token| (token, true))
        .ok_or_else(|| unauthenticated("a bearer token is needed: Authorization: Bearer <token>"))
}

pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    })
}
