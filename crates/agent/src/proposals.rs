//! What a reply is worth: an answer, calls that may be made, or nothing that may be acted on.

use crate::arguments;
use crate::host::{KeptCall, ProposedCall};
use crate::prompts::one_line;
use crate::turns::PastStep;
use domain::{Code, Refusal};
use llm::{Reply, Stop, Tool, ToolCall};
use std::collections::HashSet;

const CALLS_MOST: usize = 64;
const ID_LONGEST: usize = 256;
const NAME_LONGEST: usize = 128;
const STOP_WORD_LONGEST: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Answer { truncated: bool },
    Calls,
}

/// Calls are made only of what ended normally; text that was cut is still worth reading, and is marked.
pub(crate) fn wish(reply: &Reply) -> Result<Wish, Refusal> {
    let silent = reply.text.trim().is_empty();
    match (&reply.stop, reply.calls.is_empty()) {
        (Stop::Done, false) => Ok(Wish::Calls),
        (Stop::Done, true) if silent => Err(incomplete("the model answered nothing")),
        (Stop::Done, true) => Ok(Wish::Answer { truncated: false }),
        (Stop::Length, false) => {
            Err(incomplete("the model ran into `max_tokens` while it asked for tools: none was called"))
        }
        (Stop::Length, true) if silent => Err(incomplete("the model ran into `max_tokens` before it said anything")),
        (Stop::Length, true) => Ok(Wish::Answer { truncated: true }),
        (Stop::Other(word), _) => {
            let word: String = one_line(word).chars().take(STOP_WORD_LONGEST).collect();
            Err(incomplete(format!("the model provider stopped the answer: {word}")))
        }
    }
}

fn incomplete(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::OutputIncomplete, message)
}

/// The calls of a reply, to be kept. Those without a result may be made. If one of them is of no known form none may
/// be: a model that garbles one call may have garbled the meaning of the others.
pub(crate) fn propose(calls: &[ToolCall], tools: &[Tool], before: &[PastStep]) -> Vec<KeptCall> {
    let faults = faults(calls);
    let whole = faults.iter().all(Option::is_none);
    let mut taken: HashSet<&str> = before.iter().flat_map(|step| &step.calls).map(|call| call.id.as_str()).collect();
    taken.extend(calls.iter().map(|call| call.id.as_str()));
    let kept = calls.iter().take(CALLS_MOST).zip(faults).map(|(call, fault)| {
        let offered = tools.iter().any(|tool| tool.name == call.name);
        let why_not = match fault {
            Some(fault) => Some(fault),
            None if !whole => Some("another call of the same answer could not be read, so none of them was made"),
            None if !offered => Some("there is no such tool"),
            None => None,
        };
        KeptCall {
            id: call.id.clone(),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            result: why_not.map(not_made),
        }
    });
    let mut kept: Vec<KeptCall> = kept.collect();
    let repeated = |id: &str| before.iter().flat_map(|step| &step.calls).any(|call| call.id == id);
    for call in kept.iter_mut().filter(|call| repeated(&call.id)) {
        call.id = another_id(&call.id, &taken);
    }
    kept
}

/// Within a turn an id stands for one call, so that what somebody approved under it is that call and no later one.
fn another_id(id: &str, taken: &HashSet<&str>) -> String {
    let numbered = (2_u64..).map(|count| format!("{id}_{count}"));
    numbered.into_iter().find(|other| !taken.contains(other.as_str())).unwrap_or_default()
}

/// For each call what is wrong with its form.
fn faults(calls: &[ToolCall]) -> Vec<Option<&'static str>> {
    let mut seen = HashSet::new();
    let fault = |call: &ToolCall| {
        if calls.len() > CALLS_MOST {
            return Some("there were more than 64 calls in one answer");
        }
        if call.id.is_empty() || call.id.len() > ID_LONGEST {
            return Some("its id is missing or too long");
        }
        if !seen.insert(call.id.clone()) {
            return Some("its id is that of another call of the same answer");
        }
        if call.name.is_empty() || call.name.len() > NAME_LONGEST {
            return Some("the name of the tool is missing or too long");
        }
        arguments::parse(&call.arguments).err()
    };
    calls.iter().map(fault).collect()
}

/// The result of a call that nobody made.
pub(crate) fn not_made(why: &str) -> (String, bool) {
    (format!("not called: {why}"), true)
}

/// A kept call as the host is asked for it. It is read again, because a kept one may come from another version of the house.
pub(crate) fn proposed(call: &KeptCall) -> Result<ProposedCall, &'static str> {
    let arguments = arguments::parse(&call.arguments)?;
    Ok(ProposedCall { id: call.id.clone(), tool: call.tool.clone(), arguments })
}
