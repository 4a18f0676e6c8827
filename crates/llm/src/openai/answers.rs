//! An answer of `/chat/completions`, chunk by chunk or at once.
//!
//! Servers differ in how they number the parts of calls, so a part is taken by its number only where its id agrees.

use crate::answers::{Answer, object, text};
use crate::drafts::{Draft, Heard, other_stop};
use crate::names::WireNames;
use crate::sse::Event;
use crate::{Error, Reply, Result, Stop, statuses};
use domain::prices::Usage;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Completion {
    draft: Draft,
    /// Where the call with that number is.
    places: BTreeMap<u64, usize>,
    is_over: bool,
}

impl Answer for Completion {
    fn event(&mut self, event: &Event, heard: Heard<'_>) -> Result<()> {
        if event.data.trim() == "[DONE]" {
            self.is_over = true;
            return Ok(());
        }
        self.read(&object(&event.data)?, "delta", heard)
    }

    fn at_once(&mut self, body: &Value, heard: Heard<'_>) -> Result<()> {
        self.is_over = true;
        self.read(body, "message", heard)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Completion {
    /// Whole only if the model stopped; some servers leave `[DONE]` out.
    pub(crate) fn finish(self, asked_for: &str, names: &WireNames) -> Result<Reply> {
        self.draft.finish(asked_for, names)
    }

    fn read(&mut self, chunk: &Value, part: &str, heard: Heard<'_>) -> Result<()> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(if self.draft.has_begun() { Error::Cut } else { told(error) });
        }
        self.draft.answered_by(text(chunk, "model"));
        if let Some(usage) = chunk.get("usage").and_then(usage) {
            self.draft.usage = Some(usage);
        }
        let choices = chunk.get("choices").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for choice in choices.iter().filter(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0) {
            let said = choice.get(part).unwrap_or(&Value::Null);
            self.say(said.get("content").unwrap_or(&Value::Null), &mut *heard)?;
            for call in said.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice) {
                self.call(call)?;
            }
            match text(choice, "finish_reason") {
                "" => {}
                "stop" | "tool_calls" | "function_call" => self.draft.stop(Stop::Done),
                "length" => self.draft.stop(Stop::Length),
                other => self.draft.stop(other_stop(other)),
            }
        }
        Ok(())
    }

    /// Text, or the texts of several parts.
    fn say(&mut self, content: &Value, heard: Heard<'_>) -> Result<()> {
        match content {
            Value::String(piece) => self.draft.say(piece, heard),
            Value::Array(parts) => parts.iter().try_for_each(|part| self.draft.say(text(part, "text"), &mut *heard)),
            _ => Ok(()),
        }
    }

    fn call(&mut self, part: &Value) -> Result<()> {
        let function = part.get("function").unwrap_or(&Value::Null);
        let (id, name) = (text(part, "id"), text(function, "name"));
        let place = self.place(part.get("index").and_then(Value::as_u64), id, name)?;
        self.draft.name(place, id, name)?;
        match function.get("arguments") {
            Some(Value::String(piece)) => self.draft.argue(place, piece),
            Some(whole @ Value::Object(_)) => self.draft.argue(place, &whole.to_string()),
            _ => Ok(()),
        }
    }

    /// The call that a part belongs to. A part that names a function under another id begins a call, whatever number
    /// it has; one without a number goes on where the last one ended.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize> {
        let index = index.unwrap_or_else(|| match self.places.last_key_value() {
            Some((last, _)) if name.is_empty() => *last,
            Some((last, _)) => last.saturating_add(1),
            None => 0,
        });
        let known = self.places.get(&index).copied();
        let goes_on = known.filter(|place| {
            let begun = self.draft.at(*place).map_or("", |call| call.id.as_str());
            name.is_empty() || id.is_empty() || begun.is_empty() || begun == id
        });
        if let Some(place) = goes_on {
            return Ok(place);
        }
        let place = self.draft.call(id, name)?;
        self.places.insert(index, place);
        Ok(place)
    }
}

/// Figures count only if both are there and say anything.
fn usage(value: &Value) -> Option<Usage> {
    let figure = |name| value.get(name).and_then(Value::as_u64);
    let usage = Usage { input_tokens: figure("prompt_tokens")?, output_tokens: figure("completion_tokens")? };
    (usage != Usage::default()).then_some(usage)
}

/// An error that was told where an answer was due, by its number if it has one, else by its kind.
fn told(error: &Value) -> Error {
    let number = error.get("code").or(error.get("status")).and_then(Value::as_u64);
    let number = number.and_then(|number| u16::try_from(number).ok()).filter(|number| (400..600).contains(number));
    let kind = format!("{} {}", text(error, "type"), text(error, "code"));
    let status = number.unwrap_or(match kind.as_str() {
        kind if kind.contains("rate_limit") => 429,
        kind if kind.contains("invalid") || kind.contains("context_length") => 400,
        kind if kind.contains("authentication") => 401,
        kind if kind.contains("quota") => 402,
        _ => 500,
    });
    let said = error.get("message").or(Some(error)).and_then(Value::as_str).unwrap_or_default();
    statuses::error_of(status, None, said)
}

#[cfg(test)]
mod tests;
