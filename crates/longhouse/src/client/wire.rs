//! Requests over connections: TCP, TLS or a socket. Mostly one over each.

use super::claims::{self, OwnAgent};
use crate::cli::Place;
use anyhow::{Context, Result, bail};
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, Uri, header};
use domain::addresses::check_configured;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_rustls::TlsConnector;

/// The near end of a connection.
pub(crate) type Sender = http1::SendRequest<Body>;

/// Where an HTTP server is, and whether it is spoken to in secret.
#[derive(Clone)]
pub(crate) struct Address {
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    is_guarded: bool,
}

impl Address {
    /// `given`: what to call the URL where it is wrong.
    pub(crate) fn new(url: &str, given: &str, ca_file: Option<&Path>) -> Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("{given} is not a URL"))?;
        let host = uri.host().with_context(|| format!("{given} names no host"))?.to_owned();
        let (tls, default_port) = match uri.scheme_str() {
            Some("https") => (Some(connector(ca_file)?), 443),
            Some("http") => (None, 80),
            _ => bail!("{given} must begin with http:// or https://"),
        };
        Ok(Self { host, port: uri.port_u16().unwrap_or(default_port), tls, is_guarded: false })
    }

    /// For a server, which reaches out by itself: it connects only where the address may lead (`domain::addresses`).
    pub(crate) fn guarded(self) -> Self {
        Self { is_guarded: true, ..self }
    }

    #[cfg(test)]
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A request over a connection of its own.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Body>> {
        let request = self.addressed(request)?;
        exchange(self.connect().await?, request).await
    }

    /// The request with the name of its server.
    pub(crate) fn addressed(&self, mut request: Request<Body>) -> Result<Request<Body>> {
        let host = HeaderValue::from_str(&format!("{}:{}", self.host, self.port))?;
        request.headers_mut().insert(header::HOST, host);
        Ok(request)
    }

    pub(crate) async fn connect(&self) -> Result<Sender> {
        let place = (self.host.trim_matches(['[', ']']), self.port);
        let unreachable = || format!("cannot reach {}:{}", self.host, self.port);
        // What is judged is what is connected to.
        let found: Vec<SocketAddr> = lookup_host(place).await.with_context(unreachable)?.collect();
        if self.is_guarded {
            check_configured(place.0, &found)?;
        }
        let stream = TcpStream::connect(&found[..]).await.with_context(unreachable)?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => sender(stream).await,
            Some(connector) => {
                let name = ServerName::try_from(place.0.to_owned()).context("the server's name cannot be checked")?;
                sender(connector.connect(name, stream).await.context("the server's certificate is not trusted")?).await
            }
        }
    }
}

/// A Longhouse elsewhere.
pub(crate) struct Remote {
    address: Address,
    token: HeaderValue,
}

impl Remote {
    pub(crate) fn new(server: &str, place: &Place) -> Result<Self> {
        let address = Address::new(server, &format!("--server {server}"), place.ca_file.as_deref())?;
        let token =
            given_token(place)?.context("a token is needed for --server: set LONGHOUSE_TOKEN or give --token-file")?;
        Ok(Self { address, token })
    }

    pub(super) fn own_agent(&self) -> Option<OwnAgent> {
        claims::own_agent(self.token.to_str().ok()?.strip_prefix("Bearer ")?)
    }

    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>> {
        request.headers_mut().insert(header::AUTHORIZATION, self.token.clone());
        self.address.send(request).await
    }
}

/// Whose token was given, as it says itself.
pub(crate) fn given_user(place: &Place) -> Result<Option<String>> {
    let token = given_token(place)?;
    Ok(token.and_then(|token| claims::user(token.to_str().ok()?.strip_prefix("Bearer ")?)))
}

/// The token that was given, as it is sent.
pub(crate) fn given_token(place: &Place) -> Result<Option<HeaderValue>> {
    let text = match &place.token_file {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?,
        None => match std::env::var("LONGHOUSE_TOKEN") {
            Ok(text) if !text.trim().is_empty() => text,
            _ => return Ok(None),
        },
    };
    let mut token = HeaderValue::from_str(&format!("Bearer {}", text.trim())).context("the token is not plain text")?;
    token.set_sensitive(true);
    Ok(Some(token))
}

fn connector(ca_file: Option<&Path>) -> Result<TlsConnector> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = ca_file {
        for certificate in
            CertificateDer::pem_file_iter(file).with_context(|| format!("cannot read {}", file.display()))?
        {
            roots.add(certificate?)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

pub(super) async fn through_socket(path: &Path, request: Request<Body>) -> Result<Response<Body>> {
    let stream = UnixStream::connect(path).await.context("the server on this machine has gone")?;
    exchange(sender(stream).await?, request).await
}

async fn sender<S>(stream: S) -> Result<Sender>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends by itself when the sender is gone and the last answer was read.
    tokio::spawn(connection);
    Ok(sender)
}

async fn exchange(mut sender: Sender, request: Request<Body>) -> Result<Response<Body>> {
    let response = sender.send_request(request).await.context("the server closed the connection")?;
    Ok(response.map(Body::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_is_guarded_connects_only_where_an_address_may_lead() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let at = |host: &str| Address::new(&format!("http://{host}:{port}"), "the test", None).unwrap().guarded();
        assert!(at("127.0.0.1").connect().await.is_ok());
        assert!(at("localhost").connect().await.is_ok());
        for host in ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "0.0.0.0"] {
            let refused = at(host).connect().await.err().unwrap().to_string();
            assert!(refused.contains("not where this address may lead"), "{host} {refused}");
        }
    }
}
