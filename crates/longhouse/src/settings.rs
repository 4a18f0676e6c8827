//! What the environment and the flags say, made into what the rooms need.

use crate::cli::Serve;
use anyhow::{Context, Result, bail};
use api::{Hosts, RateLimit};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroU32;

/// Logs go to standard error: results alone belong on standard output.
pub(crate) fn start_logging(serving: bool) {
    let default = if serving { "info" } else { "warn" };
    let wanted = std::env::var("LONGHOUSE_LOG").unwrap_or_else(|_| default.to_owned());
    let filter = tracing_subscriber::EnvFilter::try_new(without_mcp_library(&wanted));
    let filter = filter.unwrap_or_else(|_| without_mcp_library(default).into());
    let logger = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // A line that cannot be written would be complained about where it could not be written, and panic.
    let logger = logger.log_internal_errors(false);
    let json = std::env::var("LONGHOUSE_LOG_FORMAT").is_ok_and(|format| format == "json");
    if json {
        logger.json().init();
    } else {
        logger.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init();
    }
}

/// The MCP library logs whole messages, values and all. It is not heard, whatever is asked for.
fn without_mcp_library(wanted: &str) -> String {
    let others = wanted.split(',').filter(|directive| !directive.trim_start().starts_with("rmcp"));
    others.chain(["rmcp=off"]).collect::<Vec<_>>().join(",")
}

/// An engine that is asked for and not there must not be replaced by another in silence.
pub(crate) fn check_engines() -> Result<()> {
    let engines = [("LONGHOUSE_BUS_URL", "memory"), ("LONGHOUSE_VECTORS_URL", "embedded")];
    for (name, only) in engines {
        if std::env::var(name).is_ok_and(|wanted| wanted != only) {
            bail!("{name} asks for an engine that this version does not have; it has `{only}`");
        }
    }
    Ok(())
}

/// Where the rows are, if not in the data directory. It may hold a password, so it is no flag that others could see.
pub(crate) fn storage_url() -> Option<String> {
    std::env::var("LONGHOUSE_STORAGE_URL").ok()
}

pub(crate) fn listen_address(text: &str) -> Result<SocketAddr> {
    let mut found =
        text.to_socket_addrs().with_context(|| format!("--listen {text} is not an address like 127.0.0.1:7700"))?;
    found.next().with_context(|| format!("--listen {text} names no address"))
}

pub(crate) fn rate_limit(text: &str) -> Result<RateLimit> {
    if text == "off" {
        return Ok(RateLimit::Off);
    }
    let rate: NonZeroU32 = text.parse().context("--rate-limit is a number of requests per second, or `off`")?;
    Ok(RateLimit::PerSecond { rate, burst: rate.saturating_mul(NonZeroU32::MIN.saturating_add(1)) })
}

/// The names this server answers to, beside the loopback ones.
pub(crate) fn hosts(options: &Serve, address: SocketAddr) -> Hosts {
    let mut names = options.allowed_hosts.clone();
    names.extend(options.public_url.as_deref().and_then(host_of_url));
    if !address.ip().is_unspecified() {
        names.push(match address {
            SocketAddr::V4(v4) => v4.ip().to_string(),
            SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
        });
    }
    Hosts::new(names)
}

fn host_of_url(url: &str) -> Option<String> {
    let authority = url.split("://").nth(1)?.split('/').next()?;
    let end = authority.rfind(':').filter(|at| !authority[*at..].contains(']')).unwrap_or(authority.len());
    Some(authority[..end].to_owned())
}

/// Beyond loopback there is TLS, or a person who said that they know.
pub(crate) fn check_exposure(options: &Serve, address: SocketAddr) -> Result<()> {
    let encrypted = options.tls_cert.is_some();
    if !address.ip().is_loopback() && !encrypted && !options.allow_plain_http {
        bail!(
            "{address} can be reached from other machines: give --tls-cert and --tls-key, \
             or --allow-plain-http if something in front of it encrypts"
        );
    }
    if options.metrics_open && !address.ip().is_loopback() {
        bail!("--metrics-open is for loopback addresses only");
    }
    Ok(())
}

pub(crate) fn public_url(options: &Serve, address: SocketAddr) -> String {
    if let Some(url) = &options.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let scheme = if options.tls_cert.is_some() { "https" } else { "http" };
    let host =
        if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() };
    format!("{scheme}://{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_its_host_without_port() {
        let cases = [
            ("https://house.example", Some("house.example")),
            ("https://house.example:8443/x", Some("house.example")),
            ("http://[::1]:7700", Some("[::1]")),
            ("nonsense", None),
        ];
        for (url, host) in cases {
            assert_eq!(host_of_url(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn a_rate_limit_is_a_number_or_off() {
        assert_eq!(rate_limit("off").unwrap(), RateLimit::Off);
        assert!(matches!(rate_limit("2000").unwrap(), RateLimit::PerSecond { burst, .. } if burst.get() == 4000));
        for bad in ["", "0", "-1", "many"] {
            assert!(rate_limit(bad).is_err(), "{bad}");
        }
    }
}
