//! Calls that a person spells out: a line, or words in backticks, of the form `call <tool> {json}`.

use crate::{Tool, ToolCall};
use serde_json::Value;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) calls: Vec<ToolCall>,
    /// What was spelled out and cannot be done, as sentences.
    pub(crate) problems: Vec<String>,
}

pub(crate) fn told(text: &str, tools: &[Tool]) -> Told {
    let mut told = Told::default();
    for spelled in text.lines().flat_map(spelled_out) {
        let (name, arguments) = spelled.split_once(char::is_whitespace).unwrap_or((spelled, ""));
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments.trim() };
        let is_offered = tools.iter().any(|tool| tool.name == name);
        if !is_offered && arguments.starts_with('{') && arguments != "{}" {
            told.problems.push(format!("There is no tool {} on offer here.", super::first(name, 80)));
        } else if !is_offered {
            // “Call me tomorrow” asks for no tool.
        } else if !matches!(serde_json::from_str(arguments), Ok(Value::Object(_))) {
            told.problems.push(format!("The arguments for {name} are no JSON object, so I did not call it."));
        } else {
            let id = format!("call_{}", told.calls.len());
            told.calls.push(ToolCall { id, name: name.to_owned(), arguments: arguments.to_owned() });
        }
    }
    told
}

/// What follows the word `call` in a line, or in each of its parts in backticks.
fn spelled_out(line: &str) -> Vec<&str> {
    let after_call = |text: &'_ str| -> Option<usize> {
        let is_call = text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("call "));
        is_call.then_some(5)
    };
    let whole = line.trim().trim_matches('`').trim();
    if let Some(start) = after_call(whole) {
        return vec![whole[start..].trim()];
    }
    let quoted = line.split('`').skip(1).step_by(2).map(str::trim);
    quoted.filter_map(|part| after_call(part).map(|start| part[start..].trim())).collect()
}
