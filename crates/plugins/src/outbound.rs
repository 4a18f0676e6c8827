//! The HTTP client for addresses outside: it connects only where the address may lead, and follows nobody elsewhere.
//!
//! A name is resolved, judged and connected to in one step: what was judged is what is connected to, so a name that changes its
//! mind in between gains nothing. No redirects, no proxy of the environment, no second try. `longhouse` may hand such a client
//! to other rooms that reach out; the rules themselves are `domain::addresses`.

use domain::addresses::{Allowance, Refused, check, literal};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const CONNECTED_WITHIN: Duration = Duration::from_secs(10);
const IDLE_WITHIN: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    #[error("its address is no `http` or `https` address")]
    NoAddress,
    #[error("its address may not be used: {0}")]
    Refused(Refused),
    #[error("{0}")]
    Tls(String),
}

/// A client for one address that the operator wrote into the configuration.
pub fn configured_client(url: &str) -> Result<(Client, Url), Unreachable> {
    let url = parsed(url)?;
    let allowance = Allowance::of_configured(url.host_str().unwrap_or_default());
    client(&url, allowance).map(|client| (client, url))
}

/// A client for one address of whatever origin; it reaches no other host. `Allowance::Public` unless the operator wrote it.
pub fn client(url: &Url, allowance: Allowance) -> Result<Client, Unreachable> {
    let host = url.host_str().ok_or(Unreachable::NoAddress)?;
    // A written address is never resolved, so this is where it is judged.
    if let Some(address) = literal(host) {
        check(allowance, &[address]).map_err(Unreachable::Refused)?;
    }
    let resolver = Guarded { host: host.to_owned(), allowance, look_up: look_up_at_the_system };
    Client::builder()
        // The provider is part of this configuration, so nothing global must be installed for it.
        .tls_backend_preconfigured(tls(url.scheme() == "https").map_err(Unreachable::Tls)?)
        .dns_resolver(Arc::new(resolver))
        .http1_only()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(CONNECTED_WITHIN)
        .pool_idle_timeout(IDLE_WITHIN)
        .build()
        .map_err(|_| Unreachable::Tls("the HTTP client cannot be made".to_owned()))
}

/// The host of an address, as whoever connects reads it: `2852039166` is `169.254.169.254`.
pub fn host_of(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

fn parsed(url: &str) -> Result<Url, Unreachable> {
    let url = Url::parse(url).map_err(|_| Unreachable::NoAddress)?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(Unreachable::NoAddress) }
}

/// Trusts the public authorities, and those that the operator's machine trusts; reading these takes a while.
fn tls(is_needed: bool) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if is_needed {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

type LookUp<F> = fn(String) -> F;

async fn look_up_at_the_system(host: String) -> io::Result<Vec<IpAddr>> {
    Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
}

/// Resolves one host, and judges what it finds.
struct Guarded<F> {
    host: String,
    allowance: Allowance,
    look_up: LookUp<F>,
}

impl<F: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static> Resolve for Guarded<F> {
    fn resolve(&self, name: Name) -> Resolving {
        let is_own = name.as_str().eq_ignore_ascii_case(&self.host);
        let (host, allowance, look_up) = (self.host.clone(), self.allowance, self.look_up);
        Box::pin(async move {
            if !is_own {
                return Err(Box::from("another host than the one that was asked for"));
            }
            let found = look_up(host).await?;
            check(allowance, &found)?;
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    async fn resolved<F>(
        host: &str,
        allowance: Allowance,
        look_up: LookUp<F>,
        asked: &str,
    ) -> Result<Vec<String>, String>
    where
        F: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        let guarded = Guarded { host: host.to_owned(), allowance, look_up };
        let found = guarded.resolve(asked.parse().unwrap()).await.map_err(|error| error.to_string())?;
        Ok(found.map(|address| address.ip().to_string()).collect())
    }

    #[test]
    fn a_written_address_is_judged_before_anything_is_sent() {
        let cases = [
            ("http://127.0.0.1:9000/mcp", true),
            ("http://[::1]:9000/mcp", true),
            ("http://192.168.1.5/mcp", true),
            ("https://mcp.example.com/mcp", true),
            ("http://169.254.169.254/latest/meta-data", false),
            ("http://[::ffff:169.254.169.254]/", false),
            ("http://0.0.0.0/", false),
            ("ftp://127.0.0.1/", false),
            ("file:///etc/passwd", false),
            ("no address", false),
        ];
        for (url, expected) in cases {
            assert_eq!(configured_client(url).is_ok(), expected, "{url}");
        }
    }

    #[test]
    fn an_address_of_somebody_else_leads_outside_however_it_is_written() {
        let inside = [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://10.0.0.1/",
            "http://user@10.0.0.1/",
            "http://１２７.0.0.1/",
        ];
        for url in inside {
            let url = Url::parse(url).unwrap();
            assert!(client(&url, Allowance::Public).is_err(), "{url}");
        }
        assert!(client(&Url::parse("http://1.1.1.1/").unwrap(), Allowance::Public).is_ok());
    }

    #[tokio::test]
    async fn a_name_leads_only_where_it_may_and_only_the_name_that_was_asked_for() {
        async fn inside(_: String) -> io::Result<Vec<IpAddr>> {
            Ok(vec![IpAddr::from([1, 1, 1, 1]), IpAddr::from([10, 0, 0, 1])])
        }
        async fn outside(_: String) -> io::Result<Vec<IpAddr>> {
            Ok(vec![IpAddr::from([1, 1, 1, 1])])
        }
        let refused = resolved("mcp.example.com", Allowance::Public, inside, "mcp.example.com").await.unwrap_err();
        assert!(refused.contains("a private network"), "{refused}");
        let found = resolved("mcp.example.com", Allowance::Public, outside, "MCP.example.com").await;
        assert_eq!(found, Ok(vec!["1.1.1.1".to_owned()]));
        assert!(resolved("mcp.example.com", Allowance::Public, outside, "other.example.com").await.is_err());
        assert_eq!(
            resolved("nas.local", Allowance::Network, inside, "nas.local").await.map(|found| found.len()),
            Ok(2)
        );
    }

    #[tokio::test]
    async fn a_name_that_changes_its_mind_is_judged_each_time() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        async fn rebinding(_: String) -> io::Result<Vec<IpAddr>> {
            let is_first = ASKED.fetch_add(1, Ordering::SeqCst) == 0;
            Ok(vec![if is_first { IpAddr::from([1, 1, 1, 1]) } else { IpAddr::from([127, 0, 0, 1]) }])
        }
        let ask = || resolved("evil.example.com", Allowance::Public, rebinding, "evil.example.com");
        assert!(ask().await.is_ok() && ask().await.is_err());
    }

    #[tokio::test]
    async fn a_request_to_a_name_that_leads_inside_is_never_made() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://localhost:{}/", listener.local_addr().unwrap().port())).unwrap();
        let request = client(&url, Allowance::Public).unwrap().get(url).send();
        tokio::select! {
            sent = request => assert!(sent.unwrap_err().is_connect()),
            _ = listener.accept() => panic!("somebody knocked"),
        }
    }
}
