//! The HTTP client that all providers share, and so its pool of open connections. It connects only where an address may
//! lead (`domain::addresses`), and follows nobody elsewhere.

use crate::providers::Timeouts;
use domain::addresses::check_configured;
use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// A connection that waited longer was closed by most providers.
const IDLE_WITHIN: Duration = Duration::from_secs(60);
const IDLE_MOST: usize = 64;

/// `needs_tls`: whether any address is a secure one; reading the machine's certificates takes a while.
pub(crate) fn client(timeouts: &Timeouts, needs_tls: bool) -> Result<Client, String> {
    Client::builder()
        // The provider is part of this configuration, so nothing global must be installed for it.
        .tls_backend_preconfigured(tls(needs_tls)?)
        .dns_resolver(Arc::new(Guarded(look_up)))
        .http1_only()
        .redirect(Policy::none())
        // A second try costs money; whoever asks decides on it.
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(timeouts.connect)
        .pool_idle_timeout(IDLE_WITHIN)
        .pool_max_idle_per_host(IDLE_MOST)
        .build()
        .map_err(|_| "the HTTP client cannot be made".to_owned())
}

/// Trusts the public authorities, and those that the operator's machine trusts: a company's own, for one.
fn tls(needs_tls: bool) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if needs_tls {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
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
    use domain::addresses::Refused;

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
