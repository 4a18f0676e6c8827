//! Traces of turns for a collector, over OTLP/HTTP: only where the environment names one, with the variables that
//! OpenTelemetry has for it. A collector that is slow or gone costs traces and nothing else: what waits is bounded, and
//! it is handed over by a thread of its own.

mod collector;
mod outgoing;

use crate::client::wire::Address;
use anyhow::{Context, Result, bail};
use collector::{Collector, Trouble};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use outgoing::Outgoing;
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

const OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_";
const OF_ALL: &str = "OTEL_EXPORTER_OTLP_";

/// For what is still to be handed over at the end; it is part of the ten seconds that a server has to stop.
const TO_FINISH: Duration = Duration::from_secs(2);

pub(crate) struct Traces {
    provider: SdkTracerProvider,
    trouble: Trouble,
}

impl Traces {
    /// None if the environment names no collector.
    pub(crate) fn asked_for(runtime: &Handle) -> Result<Option<Self>> {
        let Some((name, url)) = setting("ENDPOINT").filter(|_| !is_off()) else { return Ok(None) };
        if let Some((name, protocol)) = setting("PROTOCOL").filter(|(_, protocol)| protocol != "http/protobuf") {
            bail!("{name} asks for {protocol}; traces are sent as http/protobuf only");
        }
        let authority = setting("CERTIFICATE").map(|(_, file)| PathBuf::from(file));
        let address = Address::new(&url, &name, authority.as_deref())?.guarded();
        let trouble = Trouble::default();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(Collector::new(address, runtime.clone(), trouble.clone()))
            .build()
            .with_context(|| format!("{name} cannot be used"))?;
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(Outgoing::new(exporter)).with_resource(resource());
        Ok(Some(Self { provider: provider.build(), trouble }))
    }

    /// What hears of turns, and of nothing else.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let only_turns = filter_fn(|metadata| metadata.is_span() && metadata.target() == service::turns::SPANS);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("longhouse"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(only_turns.with_max_level_hint(LevelFilter::TRACE))
    }

    /// Hands over what is left, if that does not take long. Not to be called by what the runtime runs.
    pub(crate) fn finish(self) {
        // What went wrong before was told when it did; the thread that still waits for an answer may not come to it any more.
        if self.provider.shutdown_with_timeout(TO_FINISH).is_err() {
            self.trouble.note(Some("it has not answered until the end".to_owned()));
        }
    }
}

/// What the environment says of the exporter, for traces or for all, and the variable that says it.
fn setting(name: &str) -> Option<(String, String)> {
    [OF_TRACES, OF_ALL].into_iter().find_map(|start| {
        let variable = format!("{start}{name}");
        let value = std::env::var(&variable).ok()?.trim().to_owned();
        Some((variable, value)).filter(|(_, value)| !value.is_empty())
    })
}

fn is_off() -> bool {
    let says = |name: &str, word: &str| std::env::var(name).is_ok_and(|value| value.trim().eq_ignore_ascii_case(word));
    says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none")
}

/// Who is traced: what OpenTelemetry's own variables say, else this product by its name.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    let attributes = std::env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let is_named = std::env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty());
    if is_named || attributes.split(',').any(|one| one.trim_start().starts_with("service.name=")) {
        return resource.build();
    }
    resource.with_service_name("longhouse").build()
}
