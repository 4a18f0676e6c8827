//! What the imitated model does: it lists the keys, reads what it does not know, writes what it was asked for, and
//! says so. Each participant makes the mistakes of real models once, and must see what came of them.

use super::conversation::{Call, Conversation, Turn};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) const RESEARCH: &str = "subagent:research:1";
pub(crate) const WRITER: &str = "subagent:write:1";
pub(crate) const FINDINGS: &str = "findings_summary";

const ORCHESTRATOR: &str = "orchestrator";
const BAD_KEY: &str = "Findings Summary";
const QUOTED_MOST: usize = 300;

pub(crate) enum Decision {
    Say(String),
    /// Calls with their arguments, which are JSON unless a mistake is made.
    Call(Vec<(&'static str, String)>),
}

impl Decision {
    pub(crate) fn writes(&self, key: &str) -> bool {
        let Self::Call(calls) = self else { return false };
        let mut requests = calls.iter().filter_map(|(_, arguments)| serde_json::from_str::<Value>(arguments).ok());
        requests.any(|request| request["action"] == "write" && request["key"] == key)
    }
}

pub(crate) fn decide(conversation: &Conversation) -> Result<Decision> {
    check_mistakes(conversation)?;
    if let Some(mistake) = mistake(conversation) {
        return Ok(mistake);
    }
    let (task, calls) = conversation.task();
    let Some(listing) = calls.iter().rev().find(|call| succeeded(call, "list_keys")) else {
        return Ok(Decision::Call(vec![call(&json!({"action": "list_keys"}))]));
    };
    let own: Vec<&str> = conversation.calls().filter(|call| succeeded(call, "write")).filter_map(key).collect();
    let known: BTreeMap<&str, &str> =
        conversation.calls().filter(|call| succeeded(call, "read")).filter_map(entry).collect();
    let listed = listing.result["keys"].as_array().into_iter().flatten().filter_map(|entry| entry["key"].as_str());
    let unread: Vec<_> = listed.filter(|key| !own.contains(key) && !known.contains_key(key)).collect();
    if !unread.is_empty() {
        return Ok(Decision::Call(unread.iter().map(|key| call(&json!({"action": "read", "key": key}))).collect()));
    }
    let unwritten: Vec<_> = wanted_keys(task).into_iter().filter(|key| !own.contains(key)).collect();
    if unwritten.is_empty() {
        return Ok(Decision::Say("It is written.".to_owned()));
    }
    let write = |key: &&str| {
        let value = value(&conversation.participant, key, task, &known);
        call(&json!({"action": "write", "key": key, "value": value}))
    };
    Ok(Decision::Call(unwritten.iter().map(write).collect()))
}

/// A mistake that this participant has not made yet, at its time.
fn mistake(conversation: &Conversation) -> Option<Decision> {
    let texts = conversation.turns.iter().filter(|turn| matches!(turn, Turn::Said)).count();
    let (task, calls) = conversation.task();
    match conversation.participant.as_str() {
        // Says that it is done before it is.
        ORCHESTRATOR if texts == 1 && calls.is_empty() => Some(Decision::Say("I shall write it.".to_owned())),
        WRITER if conversation.is_new() => {
            let (cut_short, unknown) = ("{\"action\": \"list_k".to_owned(), "{\"query\": \"pools\"}".to_owned());
            Some(Decision::Call(vec![("shared_context", cut_short), ("web_search", unknown)]))
        }
        RESEARCH if calls.iter().any(|call| succeeded(call, "read")) && made_with_bad_key(conversation).is_none() => {
            let value = value(RESEARCH, BAD_KEY, task, &BTreeMap::new());
            Some(Decision::Call(vec![call(&json!({"action": "write", "key": BAD_KEY, "value": value}))]))
        }
        _ => None,
    }
}

fn check_mistakes(conversation: &Conversation) -> Result<()> {
    if let Some(call) = made_with_bad_key(conversation) {
        ensure!(call.error_code() == Some("INVALID_KEY"), "a bad key is INVALID_KEY, not {}", call.result);
    }
    for call in conversation.calls().filter(|call| call.arguments["action"].is_null()) {
        ensure!(call.error_code() == Some("INVALID_REQUEST"), "a bad call is INVALID_REQUEST, not {}", call.result);
    }
    Ok(())
}

fn made_with_bad_key(conversation: &Conversation) -> Option<&Call> {
    conversation.calls().find(|call| call.arguments["key"] == BAD_KEY)
}

fn succeeded(call: &Call, action: &str) -> bool {
    call.arguments["action"] == action && call.error_code().is_none()
}

fn key(call: &Call) -> Option<&str> {
    call.result["key"].as_str()
}

fn entry(call: &Call) -> Option<(&str, &str)> {
    Some((key(call)?, call.result["value"].as_str()?))
}

fn call(arguments: &Value) -> (&'static str, String) {
    ("shared_context", arguments.to_string())
}

/// The words in backticks after the last "write".
fn wanted_keys(task: &str) -> Vec<&str> {
    let place = task.to_ascii_lowercase().rfind("write").unwrap_or(task.len());
    task[place..].split('`').skip(1).step_by(2).collect()
}

/// What it writes shows what it knew.
fn value(participant: &str, key: &str, task: &str, known: &BTreeMap<&str, &str>) -> String {
    let mut value = format!("{participant} on {key}: {}", task.lines().next().unwrap_or_default());
    for (key, knowledge) in known {
        let knowledge: String = knowledge.chars().take(QUOTED_MOST).collect();
        value.push_str(&format!("\n[{key}: {knowledge}]"));
    }
    value
}
