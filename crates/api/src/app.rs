//! What every door shares.

use crate::hosts::Hosts;
use crate::limits::{Limits, RateLimit};
use crate::mcp::Mcp;
use crate::metrics::Metrics;
use service::House;
use service::health::{Check, Status};
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub hosts: Hosts,
    pub rate_limit: RateLimit,
    /// Whether `/metrics` needs no token. Only for a server that listens on loopback.
    pub metrics_open: bool,
    /// The address that people use, for links.
    pub public_url: String,
    /// Whether the server listens beyond loopback without TLS.
    pub plain_beyond_loopback: bool,
    /// Whether this is no server but a command that holds the house open while it lasts.
    pub temporary: bool,
}

#[derive(Clone)]
pub struct App(Arc<Shared>);

pub struct Shared {
    pub(crate) house: House,
    pub(crate) hosts: Hosts,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) mcp: Mcp,
    pub(crate) metrics_open: bool,
    pub(crate) public_url: String,
    pub(crate) temporary: bool,
    plain_beyond_loopback: bool,
    rate_limit_off: bool,
}

impl App {
    pub fn new(house: House, options: Options) -> Self {
        Self(Arc::new(Shared {
            house,
            mcp: Mcp::new(&options.hosts),
            hosts: options.hosts,
            limits: Limits::new(options.rate_limit),
            metrics: Metrics::default(),
            metrics_open: options.metrics_open,
            public_url: options.public_url,
            temporary: options.temporary,
            plain_beyond_loopback: options.plain_beyond_loopback,
            rate_limit_off: options.rate_limit == RateLimit::Off,
        }))
    }

    /// Every setting that is less safe than its default.
    pub(crate) fn deviations(&self) -> Vec<Check> {
        let settings = [
            (self.plain_beyond_loopback, "setting.plain_http", "listens beyond loopback without TLS"),
            (self.rate_limit_off, "setting.rate_limit", "requests are not limited"),
            (self.metrics_open, "setting.metrics_open", "/metrics needs no token"),
        ];
        let deviating = settings.into_iter().filter(|(deviates, ..)| *deviates);
        deviating.map(|(_, name, detail)| Check { name, status: Status::Degraded, detail: detail.to_owned() }).collect()
    }
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
