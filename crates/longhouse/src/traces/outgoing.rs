//! What may leave the house in a trace: a list. Whatever else a span may come to carry stays here.

use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter, SpanLinks};
use std::time::Duration;

const MAY_LEAVE: [&str; 19] = [
    "error.type",
    "gen_ai.agent.id",
    "gen_ai.agent.name",
    "gen_ai.conversation.id",
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.max_tokens",
    "gen_ai.request.model",
    "gen_ai.request.temperature",
    FINISH_REASONS,
    "gen_ai.response.model",
    "gen_ai.tool.call.id",
    "gen_ai.tool.name",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "longhouse.project",
    "longhouse.task",
    "longhouse.turn.end",
    "longhouse.workspace",
];

/// A list by convention; a field of a span can only be a word.
const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";

#[derive(Debug)]
pub(super) struct Outgoing<E> {
    exporter: E,
}

impl<E: SpanExporter> Outgoing<E> {
    pub(super) fn new(exporter: E) -> Self {
        Self { exporter }
    }
}

impl<E: SpanExporter> SpanExporter for Outgoing<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.exporter.export(batch.into_iter().map(as_it_leaves).collect()).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

fn as_it_leaves(mut span: SpanData) -> SpanData {
    span.attributes.retain(|attribute| MAY_LEAVE.contains(&attribute.key.as_str()));
    span.attributes.iter_mut().filter(|attribute| attribute.key.as_str() == FINISH_REASONS).for_each(into_list);
    span.events = SpanEvents::default();
    span.links = SpanLinks::default();
    span
}

fn into_list(attribute: &mut KeyValue) {
    if let Value::String(word) = &attribute.value {
        attribute.value = Value::Array(Array::String(vec![word.clone()]));
    }
}
