//! The figures of agents at work, as the service has them at this moment. Labels are words of a fixed list.

use domain::worker_spaces::Alert;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use service::turns::{Asked, Took};
use service::{House, gateway, plugins};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn register(registry: &mut Registry, house: &House) {
    let turns = house.turns();
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let ends = [("completed", &turns.completed), ("failed", &turns.failed), ("cancelled", &turns.cancelled)];
    registry.register("turns", "Turns of agents by their end", counts("end", ends.map(|(end, one)| (end, load(one)))));
    registry.register("turn_seconds", "Time that turns took", Times::of(&turns.turns));
    let (calls, failures) = (load(&turns.model_calls), load(&turns.model_failures));
    let outcomes = [("ok", calls.saturating_sub(failures)), ("failed", failures)];
    registry.register("model_calls", "Calls of models", counts("outcome", outcomes));
    let times = Asked::ALL.map(|asked| (asked.as_str(), Times::of(turns.asked(asked))));
    registry.register("model_call_seconds", "Time that calls of models took", Few::new("provider", times));
    let tokens = [("input", load(&turns.input_tokens)), ("output", load(&turns.output_tokens))];
    registry.register("tokens", "Tokens of models", counts("direction", tokens));
    registry.register("tool_calls", "Calls of tools", count(load(&turns.tool_calls)));
    registry.register("tool_calls_refused", "Calls of tools that were refused", count(load(&turns.tool_refusals)));
    let running = house.bus().running();
    registry.register("tasks_running", "Tasks that run in this process", gauge(running as u64));
    let spaces = house.spaces();
    registry.register("worker_spaces_open", "Worker spaces at work", gauge(spaces.open() as u64));
    let cache = spaces.cache();
    registry.register("agent_cache_hits", "Agents found in memory", count(load(&cache.hits)));
    registry.register("agent_cache_misses", "Agents that had to be read", count(load(&cache.misses)));
    registry.register("agent_cache_size", "Agents in memory", gauge(load(&cache.size)));
    let alerts = Alert::ALL.map(|alert| (alert.as_str(), spaces.alerts().of(alert)));
    registry.register("alerts", "Alerts that were raised", counts("kind", alerts));
    let figures = plugins::figures(house);
    let states = plugins::STATES.map(|state| (state, gauge(figures.states.get(state).copied().unwrap_or_default())));
    registry.register("plugins", "Plugins by their state", Few::new("state", states));
    registry.register("plugins_away", "Times that plugins went away or did not come up", count(figures.times_away));
    registry.register(
        "plugin_calls_running",
        "Calls of plugins under way in this process",
        gauge(figures.calls_running),
    );
    registry.register("plugin_calls", "Calls of plugins by their end", counts("end", figures.calls_ended));
    channels(registry, house);
}

fn channels(registry: &mut Registry, house: &House) {
    let heard = house.heard();
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    registry.register(
        "channel_messages",
        "Messages of channels by what became of them",
        counts("outcome", heard.heard()),
    );
    let sent = [("sent", load(&heard.sent)), ("failed", load(&heard.send_failures))];
    registry.register("channel_answers", "Attempts to bring answers to channels", counts("outcome", sent));
    let listed = gateway::channel_states(house);
    let is_connected = |one: &gateway::ListedChannel| gauge(u64::from(one.state == "connected"));
    let figures = listed.iter().map(|one| (one.name, is_connected(one))).collect();
    registry.register("channel_connected", "Whether a channel is connected", Few { label: "channel", figures });
}

fn count(value: u64) -> ConstCounter<u64> {
    ConstCounter::new(value)
}

fn gauge(value: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

fn counts<const N: usize>(label: &'static str, values: [(&'static str, u64); N]) -> Few<ConstCounter<u64>> {
    Few::new(label, values.map(|(word, value)| (word, count(value))))
}

/// The same figure for each word of a short list.
#[derive(Debug)]
struct Few<M> {
    label: &'static str,
    figures: Vec<(&'static str, M)>,
}

impl<M> Few<M> {
    fn new<const N: usize>(label: &'static str, figures: [(&'static str, M); N]) -> Self {
        Self { label, figures: figures.into() }
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for Few<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (word, figure) in &self.figures {
            figure.encode(encoder.encode_family(&[(self.label, *word)])?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}

/// A histogram as it is now.
#[derive(Debug)]
struct Times {
    total_s: f64,
    buckets: Vec<(f64, u64)>,
}

impl Times {
    fn of(took: &Took) -> Self {
        let bounds = Took::BOUNDS_S.into_iter().chain([f64::INFINITY]);
        Self { total_s: took.total_s(), buckets: bounds.zip(took.counts()).collect() }
    }
}

impl TypedMetric for Times {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Times {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let count = self.buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(self.total_s, count, &self.buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
