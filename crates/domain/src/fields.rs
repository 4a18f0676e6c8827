//! The fields of a tool's envelope, taken out one by one. What is left at the end was not asked for and is refused by
//! name; a refusal never repeats what was sent.

use crate::{Refusal, Result};
use serde_json::{Map, Value};

/// Who acts is known from the credential; a request that says so itself is refused.
const IDENTITY_FIELDS: [&str; 3] = ["written_by", "participant", "user_id"];

pub(crate) fn missing(field: &str) -> Refusal {
    Refusal::invalid_field(field, format!("`{field}` is missing"))
}

pub(crate) fn wrong_type(field: &str, expected: &str) -> Refusal {
    Refusal::invalid_field(field, format!("`{field}` must be {expected}"))
}

/// The fields of an envelope that have not been asked for yet.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn of(envelope: Map<String, Value>) -> Result<Self> {
        match IDENTITY_FIELDS.into_iter().find(|field| envelope.contains_key(*field)) {
            None => Ok(Self(envelope)),
            Some(field) => {
                let message = format!("`{field}` cannot be given: who you are comes from your credential");
                Err(Refusal::invalid_field(field, message))
            }
        }
    }

    /// Takes a field away; `null` is the same as absent.
    pub(crate) fn take(&mut self, field: &str) -> Option<Value> {
        self.0.remove(field).filter(|value| !value.is_null())
    }

    pub(crate) fn optional_text(&mut self, field: &str) -> Result<Option<String>> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_type(field, "text")),
        }
    }

    pub(crate) fn text(&mut self, field: &str) -> Result<String> {
        self.optional_text(field)?.ok_or_else(|| missing(field))
    }

    pub(crate) fn optional_number(&mut self, field: &str) -> Result<Option<u64>> {
        match self.take(field) {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| wrong_type(field, "a whole number, 0 or more")),
        }
    }

    pub(crate) fn optional_texts(&mut self, field: &str) -> Result<Option<Vec<String>>> {
        let refusal = || wrong_type(field, "a list of texts");
        let Some(value) = self.take(field) else { return Ok(None) };
        let Value::Array(items) = value else { return Err(refusal()) };
        let texts = items.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(refusal()),
        });
        texts.collect::<Result<_>>().map(Some)
    }

    /// Whatever is left was not asked for by this action.
    pub(crate) fn finish(self, action: &str) -> Result<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(unknown) => {
                let shown: String = unknown.chars().take(64).collect();
                Err(Refusal::invalid_field(&shown, format!("`{action}` has no field `{shown}`")))
            }
        }
    }
}
