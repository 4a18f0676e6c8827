//! The house's figures, in the text format that Prometheus reads. Names and numbers only: no user, key or value.

mod turns;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use service::House;
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::app::App;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: Route,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OnRoute {
    route: Route,
}

/// The pattern of a route, as the router has it: no copy for each request.
#[derive(Clone, Debug)]
struct Route(Option<MatchedPath>);

impl Route {
    fn as_str(&self) -> &str {
        self.0.as_ref().map_or("none", MatchedPath::as_str)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Route {}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
        EncodeLabelValue::encode(&self.as_str(), encoder)
    }
}

/// Any word can be a method; only the known ones may become labels.
fn label(method: &Method) -> &'static str {
    let known = [Method::GET, Method::POST, Method::DELETE, Method::PATCH, Method::PUT, Method::HEAD, Method::OPTIONS];
    let names = ["GET", "POST", "DELETE", "PATCH", "PUT", "HEAD", "OPTIONS"];
    known.iter().position(|one| one == method).map_or("other", |at| names[at])
}

pub(crate) struct Metrics {
    requests: Family<Answered, Counter>,
    seconds: Family<OnRoute, Histogram, fn() -> Histogram>,
    streams: Gauge,
}

fn histogram() -> Histogram {
    // 0.1 ms to about 1.6 s.
    Histogram::new(exponential_buckets(0.000_1, 2.0, 15))
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        Self { requests: Family::default(), seconds, streams: Gauge::default() }
    }
}

/// Counts a stream for as long as it is open.
pub(crate) struct OpenStream(Gauge);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn open_stream(&self) -> OpenStream {
        self.streams.inc();
        OpenStream(self.streams.clone())
    }

    fn answered(&self, method: &'static str, route: Route, status: u16, started: Instant) {
        let seconds = started.elapsed().as_secs_f64();
        self.seconds.get_or_create(&OnRoute { route: route.clone() }).observe(seconds);
        self.requests.get_or_create(&Answered { method, route, status }).inc();
    }

    pub(crate) fn render(&self, house: &House) -> String {
        let mut registry = Registry::with_prefix("longhouse");
        registry.register("http_requests", "Requests answered", self.requests.clone());
        registry.register("http_request_seconds", "Time to answer", self.seconds.clone());
        registry.register("event_streams", "Open event streams", self.streams.clone());
        let store = house.store();
        let figures = store.figures();
        let count = |value: u64| {
            let counter: Counter = Counter::default();
            counter.inc_by(value);
            counter
        };
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        registry.register("store_commits", "Commits on disk", count(load(&figures.commits)));
        registry.register("store_operations", "Operations in them", count(load(&figures.operations)));
        registry.register("store_commit_microseconds", "Time spent on them", count(load(&figures.commit_micros)));
        registry.register("store_retries", "Commits that were tried again", count(load(&figures.retries)));
        let budgets = house.budgets();
        registry.register("reservations_granted", "Model calls money was set aside for", count(load(&budgets.granted)));
        registry.register("reservations_refused", "Model calls that were refused it", count(load(&budgets.refused)));
        turns::register(&mut registry, house);
        let waiting: Gauge = Gauge::default();
        waiting.set(i64::try_from(store.waiting_writes()).unwrap_or(i64::MAX));
        registry.register("store_writes_waiting", "Writes in the queue", waiting);
        let memory: Gauge = Gauge::default();
        memory.set(resident_bytes());
        registry.register("resident_memory_bytes", "Memory of the process", memory);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

fn resident_bytes() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<i64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Counts and times every answer.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = label(request.method());
    let route = Route(request.extensions().get::<MatchedPath>().cloned());
    let response = next.run(request).await;
    app.metrics.answered(method, route, response.status().as_u16(), started);
    response
}
