//! What every door shares.

use crate::hosts::Hosts;
use crate::limits::{Limits, RateLimit};
use crate::metrics::Metrics;
use service::House;
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub hosts: Hosts,
    pub rate_limit: RateLimit,
    /// Whether `/metrics` needs no token. Only for a server that listens on loopback.
    pub metrics_open: bool,
    /// The address that people use, for links.
    pub public_url: String,
}

#[derive(Clone)]
pub struct App(Arc<Shared>);

pub struct Shared {
    pub(crate) house: House,
    pub(crate) hosts: Hosts,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) metrics_open: bool,
    pub(crate) public_url: String,
}

impl App {
    pub fn new(house: House, options: Options) -> Self {
        Self(Arc::new(Shared {
            house,
            hosts: options.hosts,
            limits: Limits::new(options.rate_limit),
            metrics: Metrics::default(),
            metrics_open: options.metrics_open,
            public_url: options.public_url,
        }))
    }
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
