//! How a command reaches a Longhouse: over the network with a token, through the socket of a server on this machine,
//! or, when none runs, by opening the data directory itself. It speaks the same API in each case.

mod claims;
pub(crate) mod events;
mod hosting;
pub(crate) mod wire;

pub(crate) use claims::OwnAgent;
pub(crate) use hosting::Hosting;

use crate::cli::{Actor, Place};
use crate::serve;
use anyhow::{Context, Result, bail};
use api::{App, Door, Entrance};
use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use service::House;
use service::data_dir::{SocketPath, is_house};
use std::fmt;
use std::time::Duration;

pub(crate) enum Client {
    Remote(wire::Remote),
    Socket(SocketPath),
    /// No server runs: the house is opened for this one command.
    Here(House, Box<Entrance>),
}

/// The largest body that the API takes. A larger one is not sent: the server would hang up in the middle of it.
pub(crate) const BODY_LARGEST_BYTES: usize = 1024 * 1024;

/// How long to wait for a server that is just starting or stopping.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

impl Client {
    /// `may_build`: whether a house may be made where there is none. A command that looks must not.
    pub(crate) async fn connect(place: &Place, may_build: bool) -> Result<Self> {
        if let Some(server) = &place.server {
            return Ok(Self::Remote(wire::Remote::new(server, place)?));
        }
        if !may_build && !is_house(&place.data_dir) {
            bail!(
                "there is no Longhouse in {}: give --data-dir, or start one with `longhouse serve`",
                place.data_dir.display()
            );
        }
        for attempt in 0..TRIES {
            let socket = SocketPath::of(&place.data_dir);
            if let Ok(socket) = socket
                && tokio::net::UnixStream::connect(socket.as_path()).await.is_ok()
            {
                return Ok(Self::Socket(socket));
            }
            match serve::open(place).await {
                Ok(house) => {
                    let public_url = "http://127.0.0.1:7700".into();
                    let options = api::Options { public_url, temporary: true, ..Default::default() };
                    let entrance = api::entrance(App::new(house.clone(), options));
                    return Ok(Self::Here(house, Box::new(entrance)));
                }
                // Somebody has it open but does not answer yet, or no longer.
                Err(error) if is_in_use(&error) && attempt + 1 < TRIES => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
        bail!("the data directory {} is in use, but its server does not answer", place.data_dir.display())
    }

    /// The server of a data directory, if one answers.
    pub(crate) async fn to_server_of(place: &Place) -> Option<Self> {
        let socket = SocketPath::of(&place.data_dir).ok()?;
        tokio::net::UnixStream::connect(socket.as_path()).await.ok()?;
        Some(Self::Socket(socket))
    }

    /// Where the server at the other end of the socket is to be reached by others.
    pub(crate) async fn address(&self) -> Option<String> {
        let health = self.get(&Actor::default(), "/health").await.ok()?;
        health["address"].as_str().map(str::to_owned)
    }

    /// Whether a server is at the other end, and not a command that stands in for one.
    pub(crate) async fn is_of_server(&self) -> bool {
        let health = match self {
            Self::Remote(_) => return true,
            Self::Here(..) => return false,
            Self::Socket(_) => self.get(&Actor::default(), "/health").await,
        };
        let stands_in = |check: &Value| check["name"] == api::TEMPORARY;
        health.is_ok_and(|health| !health["checks"].as_array().into_iter().flatten().any(stands_in))
    }

    pub(crate) fn is_here(&self) -> bool {
        matches!(self, Self::Here(..))
    }

    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    /// The agent that the token is for. On this machine nobody needs one: there the command says who is meant.
    pub(crate) fn own_agent(&self) -> Option<OwnAgent> {
        match self {
            Self::Remote(remote) => remote.own_agent(),
            Self::Socket(_) | Self::Here(..) => None,
        }
    }

    /// Sends a request and gives the answer's JSON; a refusal becomes an error with its code and sentence.
    pub(crate) async fn call(&self, actor: &Actor, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        self.check(actor)?;
        let response = self.send(request(actor, method, path, body)?).await?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.context("the answer was cut off")?.to_bytes();
        if bytes.is_empty() && parts.status.is_success() {
            return Ok(Value::Null);
        }
        let answer: Value = serde_json::from_slice(&bytes)
            .with_context(|| format!("the server answered {} with something that is not JSON", parts.status))?;
        if parts.status.is_success() { Ok(answer) } else { Err(refusal(parts.status, &answer)) }
    }

    pub(crate) async fn get(&self, actor: &Actor, path: &str) -> Result<Value> {
        self.call(actor, Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, actor: &Actor, path: &str, body: &Value) -> Result<Value> {
        self.call(actor, Method::POST, path, Some(body)).await
    }

    /// Opens an event stream.
    pub(crate) async fn stream(&self, actor: &Actor, path: &str, after: Option<u64>) -> Result<Body> {
        self.check(actor)?;
        let mut request = request(actor, Method::GET, path, None)?;
        if let Some(id) = after {
            request.headers_mut().insert("last-event-id", id.into());
        }
        let response = self.send(request).await?;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        Err(refusal(status, &serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// Over the network the token says who acts: another wish must not be passed over in silence.
    fn check(&self, actor: &Actor) -> Result<()> {
        if self.is_remote() && (actor.user.is_some() || actor.participant.is_some()) {
            bail!("--user and --as are for this machine; with --server the token says who you are");
        }
        Ok(())
    }

    /// Sends a request as it is, for commands that speak another protocol through the door.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Body>> {
        match self {
            Self::Remote(remote) => remote.send(request).await,
            Self::Socket(socket) => wire::through_socket(socket.as_path(), request).await,
            Self::Here(_, entrance) => Ok(entrance.call(Door::Local, request).await),
        }
    }

    /// Puts everything on disk before the command ends.
    pub(crate) async fn close(self) {
        if let Self::Here(house, _) = self {
            house.close().await;
        }
    }
}

fn is_in_use(error: &anyhow::Error) -> bool {
    error.downcast_ref::<service::Error>().is_some_and(service::Error::is_in_use)
}

fn request(actor: &Actor, method: Method, path: &str, body: Option<&Value>) -> Result<Request<Body>> {
    let mut builder = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    // Only the door on this machine believes these.
    if let Some(user) = &actor.user {
        builder = builder.header("x-longhouse-user", user);
    }
    if let Some(participant) = &actor.participant {
        builder = builder.header("x-longhouse-participant", participant);
    }
    let body = match body {
        Some(value) => {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
            let text = value.to_string();
            if text.len() > BODY_LARGEST_BYTES {
                bail!("PAYLOAD_TOO_LARGE: a request holds at most {BODY_LARGEST_BYTES} bytes");
            }
            Body::from(text)
        }
        None => Body::empty(),
    };
    Ok(builder.body(body)?)
}

/// What a Longhouse refused.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: String,
    pub(crate) message: String,
    details: Value,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if self.details.is_null() { Ok(()) } else { write!(f, " {}", self.details) }
    }
}

impl std::error::Error for Refused {}

pub(crate) fn refusal(status: StatusCode, answer: &Value) -> anyhow::Error {
    let error = &answer["error"];
    match (error["code"].as_str(), error["message"].as_str()) {
        (Some(code), Some(message)) => {
            Refused { code: code.to_owned(), message: message.to_owned(), details: error["details"].clone() }.into()
        }
        _ => anyhow::anyhow!("the server answered {status}"),
    }
}
