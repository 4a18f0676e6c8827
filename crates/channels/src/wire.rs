//! One question to a provider over HTTP and its answer, bounded in time and size. No address gets into an error: the
//! token of a bot is part of some.

use crate::pauses::Timing;
use crate::secrets::Secret;
use crate::{Error, InvalidOptions, Result};
use domain::addresses::{Allowance, Refused, check, check_configured, check_written, literal};
use domain::skills::reveal;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of an answer. A hundred of the longest messages are far less.
const BODY_MOST: usize = 16 * 1024 * 1024;
/// Characters of what a provider says to a refusal.
const EXCERPT_LONGEST: usize = 200;
/// Nobody is waited for longer, whatever they ask.
const RETRY_LONGEST: Duration = Duration::from_secs(3600);

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The address of an API, without a slash at its end.
pub(crate) fn base(address: &str, schemes: [&str; 2]) -> Result<String, InvalidOptions> {
    let url = Url::parse(address).ok().filter(|url| schemes.contains(&url.scheme()) && url.has_host());
    let is_plain = |url: &Url| url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    let [one, other] = schemes;
    let url = url.filter(is_plain).ok_or_else(|| {
        InvalidOptions::new(format!("the address of the API is not of the form {one}:// or {other}://"))
    })?;
    check_written(host(url.as_str()).as_str())
        .map_err(|refused| InvalidOptions::new(format!("the address of the API may not be used: {refused}")))?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn host(address: &str) -> String {
    Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_ascii_lowercase)).unwrap_or_default()
}

/// Judges an address that the provider at `base` named, and that is not ours to connect to: it leads to the public, or to the host
/// that the operator wrote. What it resolves to later is not known here; a written address is the easiest lie and is caught.
pub(crate) async fn check_named(address: &str, base: &str) -> Result<()> {
    let named = host(address);
    let allowance = if named == host(base) { Allowance::of_configured(&named) } else { Allowance::Public };
    let addresses = match literal(&named) {
        Some(address) => vec![address],
        None => {
            let found = look_up(named).await.map_err(|_| Error::Unreachable("its name is not known"))?;
            found.iter().map(SocketAddr::ip).collect()
        }
    };
    check(allowance, &addresses).map_err(|_| Error::Garbled("it names an address that it may not lead to"))
}

/// A token goes into an address or a header: it has nothing that would mean something there.
pub(crate) fn check_token(token: &Secret) -> Result<(), InvalidOptions> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_' | b'.');
    if !token.reveal().is_empty() && token.reveal().bytes().all(is_fine) {
        return Ok(());
    }
    Err(InvalidOptions::new("the bot's token is empty or has characters that no token has"))
}

/// `base` is where it is used: reading the machine's certificates takes a while, and only a secure address needs them.
pub(crate) fn client(timing: &Timing, base: &str) -> Result<Client, InvalidOptions> {
    Client::builder()
        // The provider is part of this configuration, so nothing global must be installed for it.
        .tls_backend_preconfigured(tls(base.starts_with("https:"))?)
        .dns_resolver(Arc::new(Guarded(look_up)))
        // The library for the second version of the protocol logs paths, and a path may hold a token.
        .http1_only()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(timing.connect)
        .build()
        .map_err(|_| InvalidOptions::new("the HTTP client cannot be made"))
}

/// Trusts the public authorities, and those that the operator's machine trusts.
fn tls(needs_roots: bool) -> Result<ClientConfig, InvalidOptions> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if needs_roots {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| InvalidOptions::new("TLS cannot be set up"))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Asks once.
pub(crate) async fn ask(request: RequestBuilder, within: Duration) -> Result<Answer> {
    match tokio::time::timeout(within, converse(request)).await {
        Ok(answered) => answered,
        Err(_) => Err(Error::Unanswered("it took too long")),
    }
}

async fn converse(request: RequestBuilder) -> Result<Answer> {
    let mut response = request.send().await.map_err(|error| {
        if is_refused(&error) {
            Error::Unreachable("its address leads where it may not")
        } else if error.is_connect() {
            Error::Unreachable("no connection")
        } else {
            Error::Unanswered("it hung up")
        }
    })?;
    let body = body(&mut response).await?;
    Ok(Answer { status: response.status().as_u16(), headers: std::mem::take(response.headers_mut()), body })
}

fn is_refused(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.is::<Refused>() {
            return true;
        }
        cause = inner.source();
    }
    false
}

async fn body(response: &mut Response) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|_| Error::Unanswered("its answer ended in the middle"))? {
        if body.len() + bytes.len() > BODY_MOST {
            return Err(Error::Garbled("it is too large"));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

impl Answer {
    /// What a status that is no success means. `said` is what the provider said to it.
    pub(crate) fn error(&self, said: &str, retry_after: Option<Duration>, token: &Secret) -> Error {
        let excerpt = excerpt(said, token);
        match self.status {
            429 => Error::RateLimited { retry_after: self.patience(retry_after) },
            401 => Error::Unauthorized { status: 401 },
            409 => Error::Conflict { excerpt },
            status @ 500.. => Error::Failing { status },
            status => Error::Refused { status, excerpt },
        }
    }

    fn patience(&self, said: Option<Duration>) -> Duration {
        let header = || self.seconds("retry-after");
        said.or_else(header).unwrap_or(Duration::from_secs(1)).min(RETRY_LONGEST)
    }

    /// A header with a number of seconds.
    pub(crate) fn seconds(&self, header: &str) -> Option<Duration> {
        seconds(self.headers.get(header)?.to_str().ok()?.trim().parse().ok()?)
    }
}

/// A time that a provider named; none if there is no such time.
pub(crate) fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok()
}

fn excerpt(said: &str, token: &Secret) -> String {
    let clean = said.replace(token.reveal(), "[token]");
    let short: String = clean.chars().take(EXCERPT_LONGEST).collect();
    reveal(&short.split_whitespace().collect::<Vec<_>>().join(" ")).0
}

async fn look_up(host: String) -> io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((host, 0)).await?.collect())
}

/// What a name leads to is judged and connected to in one step, so that a name that changes its mind gains nothing.
struct Guarded<F>(fn(String) -> F);

impl<F: Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static> Resolve for Guarded<F> {
    fn resolve(&self, name: Name) -> Resolving {
        let look_up = self.0(name.as_str().to_owned());
        Box::pin(async move {
            let found = look_up.await?;
            check_configured(name.as_str(), &found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_leads_to_metadata_or_inside_is_connected_to_nowhere() {
        async fn metadata(_: String) -> io::Result<Vec<SocketAddr>> {
            Ok(vec![SocketAddr::from(([169, 254, 169, 254], 0))])
        }
        async fn inside(_: String) -> io::Result<Vec<SocketAddr>> {
            Ok(vec![SocketAddr::from(([1, 1, 1, 1], 0)), SocketAddr::from(([127, 0, 0, 1], 0))])
        }
        for host in ["api.example.com", "metadata.google.internal", "localhost", "metadata"] {
            let error = Guarded(metadata).resolve(host.parse().unwrap()).await.err().unwrap();
            assert!(error.downcast_ref::<Refused>().is_some(), "{host} {error}");
        }
        assert!(Guarded(inside).resolve("api.example.com".parse().unwrap()).await.is_err());
        let found = Guarded(look_up).resolve("localhost".parse().unwrap()).await.unwrap();
        assert!(found.into_iter().all(|address| address.ip().is_loopback()));
    }
}
