//! What one policy decision costs, beside one look-up in a hash map. Measured by a program of the `domain` crate.

use super::rows::{Bar, Row};
use super::samples::{Sample, Unit};
use crate::{processes, workspace};
use anyhow::{Context, Result};
use serde_json::Value;
use std::process::Command;

const MOST_NS: f64 = 1_000.0;

pub(crate) fn measure() -> Result<Vec<Row>> {
    let program = workspace::build_example("longhouse-domain", "policy_decision")?;
    let text = processes::output_of(&mut Command::new(program))?;
    let measured: Value = serde_json::from_str(&text)?;
    let peer = sample(&measured, "hash_lookup_ns")?;
    let row = |name: &str, field: &str, bar| {
        Ok::<_, anyhow::Error>(Row::new(name, sample(&measured, field)?, bar)?.beside("a hash map's look-up", peer))
    };
    Ok(vec![
        row("policy decision, a yes; 100 workspaces, 20 plugins", "allowed_ns", Bar::AtMost(MOST_NS))?,
        row("– a no", "denied_ns", Bar::AtMost(MOST_NS))?,
        row("– where any plugin may have the tool", "any_source_ns", Bar::AtMost(MOST_NS))?,
    ])
}

fn sample(measured: &Value, field: &str) -> Result<Option<Sample>> {
    let rounds = measured[field].as_array().with_context(|| format!("the program did not measure {field}"))?;
    Ok(Sample::of(rounds.iter().filter_map(Value::as_f64).collect(), Unit::Nanoseconds))
}
