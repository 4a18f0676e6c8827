//! The HTTP client that all providers share, and so its pool of open connections.

use crate::providers::Timeouts;
use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
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
