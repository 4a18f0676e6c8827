//! An answer of `/v1/messages`, event by event or at once.

use crate::answers::{Answer, object, text};
use crate::drafts::{Draft, Heard, other_stop};
use crate::names::WireNames;
use crate::sse::Event;
use crate::{Error, Reply, Result, Stop, statuses};
use domain::prices::Usage;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct MessageAnswer {
    draft: Draft,
    /// Where the call of that block is.
    places: BTreeMap<u64, usize>,
    input_tokens: Option<u64>,
    is_over: bool,
}

impl Answer for MessageAnswer {
    fn event(&mut self, event: &Event, heard: Heard<'_>) -> Result<()> {
        let value = object(&event.data)?;
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text(&value, "type") {
            "message_start" => self.begin(value.get("message").unwrap_or(&Value::Null)),
            "content_block_start" => {
                return self.block(index, value.get("content_block").unwrap_or(&Value::Null), heard);
            }
            "content_block_delta" => return self.delta(index, value.get("delta").unwrap_or(&Value::Null), heard),
            "message_delta" => {
                self.stop(text(value.get("delta").unwrap_or(&Value::Null), "stop_reason"));
                self.count(value.get("usage").unwrap_or(&Value::Null));
            }
            "message_stop" => self.is_over = true,
            "error" => return Err(self.told(value.get("error").unwrap_or(&Value::Null))),
            // Pings, ends of blocks, and kinds that came later than this was written.
            _ => {}
        }
        Ok(())
    }

    fn at_once(&mut self, body: &Value, heard: Heard<'_>) -> Result<()> {
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            return Err(self.told(error));
        }
        self.begin(body);
        let blocks = body.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, block) in (0..).zip(blocks) {
            self.block(index, block, &mut *heard)?;
        }
        self.stop(text(body, "stop_reason"));
        self.count(body.get("usage").unwrap_or(&Value::Null));
        self.is_over = true;
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl MessageAnswer {
    /// Whole only after the closing event.
    pub(crate) fn finish(self, asked_for: &str, names: &WireNames) -> Result<Reply> {
        if self.is_over { self.draft.finish(asked_for, names) } else { Err(Error::Cut) }
    }

    fn begin(&mut self, message: &Value) {
        self.draft.answered_by(text(message, "model"));
        self.input_tokens = message.get("usage").and_then(input);
    }

    fn block(&mut self, index: u64, block: &Value, heard: Heard<'_>) -> Result<()> {
        match text(block, "type") {
            "text" => self.draft.say(text(block, "text"), heard),
            "tool_use" => {
                let place = self.draft.call(text(block, "id"), text(block, "name"))?;
                self.places.insert(index, place);
                // Empty at the start of a stream, where it comes in pieces.
                match block.get("input") {
                    Some(Value::Object(input)) if !input.is_empty() => {
                        self.draft.argue(place, &Value::Object(input.clone()).to_string())
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, heard: Heard<'_>) -> Result<()> {
        match text(delta, "type") {
            "text_delta" => self.draft.say(text(delta, "text"), heard),
            "input_json_delta" => match self.places.get(&index) {
                Some(place) => self.draft.argue(*place, text(delta, "partial_json")),
                // Tools that run at the provider also get arguments; they are none of ours.
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn stop(&mut self, reason: &str) {
        match reason {
            "" => {}
            "end_turn" | "tool_use" | "stop_sequence" => self.draft.stop(Stop::Done),
            "max_tokens" => self.draft.stop(Stop::Length),
            other => self.draft.stop(other_stop(other)),
        }
    }

    /// The output's figures come with the end; some servers give the input's only then.
    fn count(&mut self, usage: &Value) {
        let input_tokens = input(usage).filter(|tokens| *tokens > 0).or(self.input_tokens);
        let output_tokens = usage.get("output_tokens").and_then(Value::as_u64);
        if let (Some(input_tokens), Some(output_tokens)) = (input_tokens, output_tokens) {
            let usage = Usage { input_tokens, output_tokens };
            self.draft.usage = (usage != Usage::default()).then_some(usage);
        }
    }

    fn told(&self, error: &Value) -> Error {
        if self.draft.has_begun() {
            return Error::Cut;
        }
        let status = match text(error, "type") {
            "invalid_request_error" => 400,
            "authentication_error" => 401,
            "billing_error" => 402,
            "permission_error" => 403,
            "not_found_error" => 404,
            "request_too_large" => 413,
            "rate_limit_error" => 429,
            "timeout_error" => 504,
            "overloaded_error" => 529,
            _ => 500,
        };
        statuses::error_of(status, None, text(error, "message"))
    }
}

/// What went in, cached or not: what a cache took or gave is paid for as well, and counts as input.
fn input(usage: &Value) -> Option<u64> {
    let figure = |name| usage.get(name).and_then(Value::as_u64);
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].into_iter().filter_map(figure);
    let plain = figure("input_tokens")?;
    Some(cached.fold(plain, u64::saturating_add))
}

#[cfg(test)]
mod tests;
