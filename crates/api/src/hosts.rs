//! Which names this server answers to, and which pages may talk to it.

use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use domain::{Code, Refusal, Result};

/// Allowed host names, lower-case and without port. Loopback names are always among them.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    names: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Hosts {
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Every name that is answered to.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        LOOPBACK.into_iter().chain(self.names.iter().map(String::as_str))
    }

    fn knows(&self, authority: &str) -> bool {
        let Some(name) = host_of(authority).map(str::to_ascii_lowercase) else { return false };
        LOOPBACK.contains(&name.as_str()) || self.names.contains(&name)
    }

    /// A request for another name may come from a page that made its own name point here.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<()> {
        let refusal =
            || Refusal::new(Code::ForeignHost, "this server does not answer to that host name (server.allowed_hosts)");
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().and_then(|value| value.to_str().ok()).ok_or_else(refusal)?;
        let one = named.next().is_none();
        let target = uri.authority().is_none_or(|authority| self.knows(authority.as_str()));
        if one && target && self.knows(host) { Ok(()) } else { Err(refusal()) }
    }

    /// A page of another site must not change anything here, nor read a stream.
    pub(crate) fn check_origin(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<()> {
        let guarded = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
            || path == "/mcp"
            || path.ends_with("/events");
        let ours = |origin: &HeaderValue| {
            origin.to_str().ok().and_then(authority_of).is_some_and(|authority| self.knows(authority))
        };
        if !guarded || headers.get_all(header::ORIGIN).iter().all(ours) { Ok(()) } else { Err(foreign_origin()) }
    }
}

/// With a cookie the browser's word is needed that the page is ours: the very same host and port.
pub(crate) fn check_same_origin(headers: &HeaderMap, public_url: &str) -> Result<()> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).and_then(authority_of);
    let host = text(header::HOST);
    if origin.is_some() && (origin == host || origin == authority_of(public_url)) {
        Ok(())
    } else {
        Err(foreign_origin())
    }
}

pub(crate) fn is_https(url: &str) -> bool {
    url.starts_with("https://")
}

fn foreign_origin() -> Refusal {
    Refusal::forbidden("a page of another origin may not do this")
}

/// `https://name:port` → `name:port`; anything else (`null` too) is no origin of ours.
fn authority_of(origin: &str) -> Option<&str> {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    let authority = rest.split('/').next()?;
    (!authority.is_empty()).then_some(authority)
}

/// The name in `name` or `name:port`; anything else (a user, two ports, words after a bracket) is no host.
fn host_of(authority: &str) -> Option<&str> {
    let end = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (name, rest) = authority.split_at(end);
    let is_port = |port: &str| (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    (well_formed && !name.contains('@')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn only_known_host_names_are_answered() {
        let hosts = Hosts::new(["House.example".to_owned()]);
        for good in
            ["localhost", "localhost:7700", "127.0.0.1:1", "[::1]:7700", "[::1]", "HOUSE.example", "house.example:443"]
        {
            assert!(hosts.check_host(&Uri::from_static("/"), &headers(header::HOST, good)).is_ok(), "{good}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "house.example.evil:80",
            "",
            "127.0.0.1.nip.io",
            "evil@localhost:1",
            "[::2]",
        ] {
            assert!(hosts.check_host(&Uri::from_static("/"), &headers(header::HOST, bad)).is_err(), "{bad}");
        }
        assert!(hosts.check_host(&Uri::from_static("/"), &HeaderMap::new()).is_err());
        let absolute = Uri::from_static("http://evil.example/health");
        assert!(hosts.check_host(&absolute, &headers(header::HOST, "localhost")).is_err());
    }

    #[test]
    fn foreign_origins_may_neither_change_nor_stream() {
        let hosts = Hosts::default();
        let cases = [
            (Method::POST, "/sessions", "http://evil.example", false),
            (Method::DELETE, "/sessions/a", "null", false),
            (Method::GET, "/sessions/a/events", "https://evil.example", false),
            (Method::GET, "/mcp", "https://evil.example", false),
            (Method::GET, "/me", "https://evil.example", true),
            (Method::POST, "/sessions", "http://localhost:7700", true),
            (Method::POST, "/sessions", "http://localhost@evil.example", false),
            (Method::POST, "/sessions", "http://localhost.evil.example", false),
        ];
        for (method, path, origin, expected) in cases {
            let allowed = hosts.check_origin(&method, path, &headers(header::ORIGIN, origin)).is_ok();
            assert_eq!(allowed, expected, "{method} {path} {origin}");
        }
    }

    #[test]
    fn a_cookie_needs_the_same_host_and_port() {
        let mut both = headers(header::HOST, "localhost:7700");
        assert!(check_same_origin(&both, "").is_err());
        both.insert(header::ORIGIN, "http://localhost:3000".parse().unwrap());
        assert!(check_same_origin(&both, "").is_err());
        both.insert(header::ORIGIN, "http://localhost:7700".parse().unwrap());
        assert!(check_same_origin(&both, "").is_ok());
    }
}
