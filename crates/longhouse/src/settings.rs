//! What the environment and the flags say, made into what the rooms need.

use crate::cli::{Command, Place, Serve};
use crate::config::{self, KnownPeople, ProcessSettings};
use crate::output;
use crate::traces::Traces;
use anyhow::{Context, Result, anyhow, bail};
use api::{Hosts, RateLimit};
use domain::ids::UserId;
use serde_json::{Value, json};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// One core is the writer's: a thread more to serve requests would mostly take work from its neighbours and wake them for it.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::runtime::Builder::new_multi_thread().worker_threads(cores.saturating_sub(1).max(1)).enable_all().build()
}

/// Logs go to standard error: results alone belong on standard output.
pub(crate) fn start_logging(command: &Command, traces: Option<&Traces>) {
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let default = if matches!(command, Command::Serve(_)) { "info" } else { "warn" };
    let wanted = match command {
        // A line of the log would lie across the screen.
        Command::Connect(options) if options.tui && is_terminal => "off".to_owned(),
        _ => std::env::var("LONGHOUSE_LOG").unwrap_or_else(|_| default.to_owned()),
    };
    let filter = tracing_subscriber::EnvFilter::try_new(without_mcp_library(&wanted));
    let filter = filter.unwrap_or_else(|_| without_mcp_library(default).into());
    let logger = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    // A line that cannot be written would be complained about where it could not be written, and panic.
    let logger = logger.log_internal_errors(false);
    let json = std::env::var("LONGHOUSE_LOG_FORMAT").is_ok_and(|format| format == "json");
    let logger = if json { logger.json().boxed() } else { logger.with_ansi(is_terminal).boxed() };
    let heard = tracing_subscriber::registry().with(logger.with_filter(filter));
    match traces {
        Some(traces) => heard.with(traces.layer()).init(),
        None => heard.init(),
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

/// The configuration file that is meant: the one that was named, or the usual one if it is there.
pub(crate) fn config_file(place: &Place) -> Option<PathBuf> {
    let usual = || Some(PathBuf::from(config::DEFAULT_FILE)).filter(|path| path.symlink_metadata().is_ok());
    place.config.clone().or_else(usual)
}

/// Who may be named before the house is asked: its owner, if it is still to be built in the data directory. Otherwise
/// anybody, because a new folder may be for a house whose rows are in a database and whose people are many.
pub(crate) fn people_unasked(place: &Place, config: &Path) -> KnownPeople {
    let url = std::env::var("LONGHOUSE_STORAGE_URL").ok();
    // A file that cannot be read has no people either; it is told of when it is loaded.
    let url = url.or_else(|| config::storage_url(config).ok().flatten());
    let is_here = url.is_none_or(|url| url == "sqlite");
    if service::data_dir::is_house(&place.data_dir) || !is_here {
        return KnownPeople::Anybody;
    }
    KnownPeople::These(UserId::parse(service::users::OWNER).into_iter().collect())
}

/// Where the rows are, if not in the data directory: for whoever opens a house without serving it, and must find what
/// the server has. It may hold a password, so it is no flag that others could see.
pub(crate) fn storage_url(place: &Place) -> Result<Option<String>> {
    if let Ok(url) = std::env::var("LONGHOUSE_STORAGE_URL") {
        return Ok(Some(url));
    }
    let Some(path) = config_file(place) else { return Ok(None) };
    config::storage_url(&path).or_else(|problems| {
        let problems = config::lines(&problems).join("\n");
        // A file that is wrong must not keep an operator from a house that is plainly here.
        if place.data_dir.join(service::data_dir::DATABASE).is_file() {
            output::say(&format!("the configuration is not read:\n{problems}"));
            return Ok(None);
        }
        Err(anyhow!("it is not known where the rows are\n{problems}"))
    })
}

/// What holds for the process: flag before environment before file before default.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) storage_url: Option<String>,
    pub(crate) rate_limit: RateLimit,
    pub(crate) metrics_open: bool,
    public_url: Option<String>,
    allowed_hosts: Vec<String>,
    encrypted: bool,
}

impl Process {
    pub(crate) fn new(options: &Serve, file: &ProcessSettings) -> Result<Self> {
        let rate_limit = match &options.rate_limit {
            Some(text) => rate_limit(text)?,
            None => file.rate_limit.unwrap_or_default(),
        };
        let given = Some(&options.allowed_hosts).filter(|names| !names.is_empty());
        Ok(Self {
            storage_url: std::env::var("LONGHOUSE_STORAGE_URL").ok().or_else(|| file.storage_url.clone()),
            rate_limit,
            metrics_open: options.metrics_open.or(file.metrics_open).unwrap_or_default(),
            public_url: options.public_url.clone().or_else(|| file.public_url.clone()),
            allowed_hosts: given.or(file.allowed_hosts.as_ref()).cloned().unwrap_or_default(),
            encrypted: options.tls_cert.is_some(),
        })
    }
}

pub(crate) fn listen_address(text: &str) -> Result<SocketAddr> {
    let mut found =
        text.to_socket_addrs().with_context(|| format!("--listen {text} is not an address like 127.0.0.1:7700"))?;
    found.next().with_context(|| format!("--listen {text} names no address"))
}

fn rate_limit(text: &str) -> Result<RateLimit> {
    if text == "off" {
        return Ok(RateLimit::Off);
    }
    let rate: NonZeroU32 = text.parse().context("--rate-limit is a number of requests per second, or `off`")?;
    Ok(RateLimit::PerSecond { rate, burst: rate.saturating_mul(NonZeroU32::MIN.saturating_add(1)) })
}

impl Process {
    /// The names this server answers to, beside the loopback ones.
    pub(crate) fn hosts(&self, address: SocketAddr) -> Hosts {
        let mut names = self.allowed_hosts.clone();
        names.extend(self.public_url.as_deref().and_then(host_of_url));
        if !address.ip().is_unspecified() {
            names.push(match address {
                SocketAddr::V4(v4) => v4.ip().to_string(),
                SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
            });
        }
        Hosts::new(names)
    }

    /// Beyond loopback there is TLS, or a person who said that they know.
    pub(crate) fn check_exposure(&self, options: &Serve, address: SocketAddr) -> Result<()> {
        if !address.ip().is_loopback() && !self.encrypted && !options.allow_plain_http {
            bail!(
                "{address} can be reached from other machines: give --tls-cert and --tls-key, \
                 or --allow-plain-http if something in front of it encrypts"
            );
        }
        if self.metrics_open && !address.ip().is_loopback() {
            bail!("--metrics-open, or `server.metrics_open`, is for loopback addresses only");
        }
        Ok(())
    }

    pub(crate) fn public_url(&self, address: SocketAddr) -> String {
        if let Some(url) = &self.public_url {
            return url.trim_end_matches('/').to_owned();
        }
        let scheme = if self.encrypted { "https" } else { "http" };
        let host =
            if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() };
        format!("{scheme}://{host}")
    }

    /// For showing, without secrets.
    pub(crate) fn as_json(&self, address: SocketAddr) -> Value {
        let rate_limit = match self.rate_limit {
            RateLimit::Off => json!("off"),
            RateLimit::PerSecond { rate, burst } => json!({"per_second": rate, "burst": burst}),
        };
        json!({
            "listen": address.to_string(),
            "storage": {"url": self.storage_url.as_deref().map_or("sqlite".to_owned(), without_password)},
            "bus": {"url": "memory"},
            "vectors": {"url": "embedded"},
            "server": {
                "public_url": self.public_url(address),
                "allowed_hosts": self.allowed_hosts,
                "metrics_open": self.metrics_open,
                "rate_limit": rate_limit,
            },
        })
    }
}

/// An address with nothing in it that opens a door: what follows `?` may hold a password too, and a password `?` and `#`.
fn without_password(url: &str) -> String {
    let ended = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
    let Some((scheme, rest)) = url.split_once("://") else { return ended(url) };
    let Some((person, place)) = rest.rsplit_once('@') else { return ended(url) };
    let place = ended(place);
    let name = person.split(':').next().unwrap_or_default();
    let hidden = if person.contains(':') { ":…" } else { "" };
    format!("{scheme}://{name}{hidden}@{place}")
}

fn host_of_url(url: &str) -> Option<String> {
    let authority = url.split("://").nth(1)?.split('/').next()?;
    let end = authority.rfind(':').filter(|at| !authority[*at..].contains(']')).unwrap_or(authority.len());
    Some(authority[..end].to_owned())
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

    #[test]
    fn a_password_is_not_shown() {
        let cases = [
            ("postgres://longhouse:s3cret@db:5432/house?password=s3cret", "postgres://longhouse:…@db:5432/house"),
            ("postgres://a:b@c@db/house", "postgres://a:…@db/house"),
            ("postgres://a:secret#1@db/house", "postgres://a:…@db/house"),
            ("postgres://a:secret?1@db/house?x=y", "postgres://a:…@db/house"),
            ("postgres://longhouse@db/house", "postgres://longhouse@db/house"),
            ("postgres:///house?host=/run", "postgres:///house"),
            ("sqlite", "sqlite"),
        ];
        for (url, shown) in cases {
            assert_eq!(without_password(url), shown);
        }
    }
}
