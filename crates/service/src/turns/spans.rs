//! What can be traced of a turn: a span for it, one for each model call and one for each tool call, in the words of
//! OpenTelemetry's conventions for generative AI. Names, ids and numbers: never what was said, asked for or answered.
//!
//! They are finer than any usual log, and exist only where somebody listens to their target.

use super::figures::Asked;
use crate::Error;
use crate::bus::Picked;
use agent::{End, ProposedCall};
use domain::Code;
use llm::{Reply, Request, Stop};
use tracing::Span;
use tracing::field::Empty;

pub const TARGET: &str = "longhouse::turns";

const NAME_LONGEST: usize = 128;

/// The whole turn. It is for a task, whoever's request happened to wake the worker.
pub(super) fn turn(picked: &Picked) -> Span {
    let task = &picked.task;
    tracing::trace_span!(
        target: TARGET,
        parent: None,
        "invoke_agent",
        otel.name = %format_args!("invoke_agent {}", task.agent.name),
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = %task.agent.name,
        gen_ai.agent.id = %task.agent.id,
        gen_ai.conversation.id = %task.session,
        longhouse.task = %task.id,
        longhouse.workspace = %picked.session.workspace,
        longhouse.project = %task.project,
        longhouse.turn.end = Empty,
        error.type = Empty,
    )
}

/// One call of a model.
pub(super) fn chat(asked: Asked, request: &Request) -> Span {
    tracing::trace_span!(
        target: TARGET,
        "chat",
        otel.name = %format_args!("chat {}", request.model),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = asked.as_str(),
        gen_ai.request.model = request.model,
        gen_ai.request.max_tokens = signed(request.max_tokens),
        gen_ai.request.temperature = request.temperature,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
    )
}

/// One call of a tool that is on offer.
pub(super) fn tool(call: &ProposedCall) -> Span {
    tracing::trace_span!(
        target: TARGET,
        "execute_tool",
        otel.name = %format_args!("execute_tool {}", call.tool),
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = call.tool,
        gen_ai.tool.call.id = named(&call.id),
        error.type = Empty,
    )
}

/// Notes on the span around this how the model answered.
pub(super) fn answered(answer: &llm::Result<Reply>) {
    let reply = match answer {
        Ok(reply) => reply,
        Err(error) => return failed(error.code()),
    };
    let span = Span::current();
    let why = match &reply.stop {
        Stop::Done if reply.calls.is_empty() => "stop",
        Stop::Done => "tool_calls",
        Stop::Length => "length",
        Stop::Other(word) => named(word).unwrap_or("other"),
    };
    span.record("gen_ai.response.finish_reasons", why);
    span.record("gen_ai.response.model", named(&reply.model));
    if let Some(usage) = reply.usage {
        span.record("gen_ai.usage.input_tokens", signed(usage.input_tokens));
        span.record("gen_ai.usage.output_tokens", signed(usage.output_tokens));
    }
}

/// Notes on the span around this how the turn ended; none if it was told to stop.
pub(super) fn ended(end: Option<&Result<End, Error>>) {
    let (how, code) = match end {
        None => ("stopped", None),
        Some(Ok(End::Replied(_))) => ("completed", None),
        Some(Ok(End::Parked)) => ("parked", None),
        Some(Ok(End::Failed(refusal))) => ("failed", Some(refusal.code)),
        Some(Err(error)) => ("failed", Some(error.code())),
    };
    Span::current().record("longhouse.turn.end", how);
    if let Some(code) = code {
        failed(code);
    }
}

/// Notes on the span around this that it did not go well.
pub(super) fn failed(code: Code) {
    let span = Span::current();
    span.record("error.type", code.as_str());
    span.record("otel.status_code", "ERROR");
}

/// What a provider wrote where a name belongs, if it is one: it could write anything.
fn named(text: &str) -> Option<&str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+".contains(&byte);
    Some(text).filter(|text| !text.is_empty() && text.len() <= NAME_LONGEST && text.bytes().all(is_part))
}

/// The form in which exporters take numbers.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_provider_are_told_only_where_they_are_names() {
        for name in ["gpt-4o-2024-08-06", "meta/llama-3.1:70b", "call_0", "toolu_01A"] {
            assert_eq!(named(name), Some(name));
        }
        for other in ["", "a secret", "key=value", "Größe", "{\"a\":1}", "line\nbreak", &"x".repeat(129)] {
            assert_eq!(named(other), None, "{other}");
        }
    }
}
