//! How much a call could break, and why: a list of reasons, each with a level, of which the highest counts. No reason
//! lowers another, and nothing is harmless because it looks so.

mod hidden;
mod protected;

pub use hidden::{made_visible, made_visible_in_a_line};
pub use protected::{Guard, guard_of};

use crate::node_tools::{Mode, NodeRequest};
use crate::tool_calls::Risk;

/// What is known about a call besides itself. What is not known counts as the worse of its two answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// Whether the agent knows what the file holds: it has read it, or written it itself, in this session.
    pub has_read: bool,
    /// Whether the file is there, if a preview told.
    pub exists: Option<bool>,
    /// Where the path leads behind links, if a preview told: a harmless name may be a link to another.
    pub resolved: Option<&'a str>,
    /// Whether what would change in the file could not be shown.
    pub is_unseen: bool,
    /// Whether a command may use the network.
    pub network: bool,
    /// Whether its project wants a person to be asked about every call.
    pub is_always_asked: bool,
    /// Other texts that whoever approves will see: a diff, the program that was found, what the agent says about it.
    pub also_shown: &'a [&'a str],
}

#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    pub risk: Risk,
    /// Sentences for people, those that weigh most first.
    pub reasons: Vec<String>,
}

pub fn assess(request: &NodeRequest, known: Known<'_>) -> Assessment {
    let mut reasons = vec![of_the_tool(request)];
    reasons.extend(of_overwriting(request, known));
    reasons.extend(of_changing_unseen(request, known));
    reasons.extend(of_the_network(known));
    reasons.extend(of_the_project(known));
    let paths = request.path().into_iter().chain(known.resolved);
    reasons.extend(paths.filter_map(|path| of_the_name(request, path)));
    reasons.extend(of_what_is_shown(request, known));
    // Stable: reasons of the same weight stay in the order they were found.
    reasons.sort_by_key(|(risk, _)| std::cmp::Reverse(*risk));
    reasons.dedup();
    let risk = reasons.first().map_or(Risk::High, |(risk, _)| *risk);
    Assessment { risk, reasons: reasons.into_iter().map(|(_, reason)| reason).collect() }
}

/// A call of a plugin's tool. What it does nobody here knows, and what the plugin says of it does not count: so it is as
/// dangerous as can be wherever somebody wants to be asked, and elsewhere the file has answered beforehand.
pub fn assess_plugin(plugin: &str, waits_for_a_person: bool, is_always_asked: bool, arguments: &str) -> Assessment {
    let mut reasons = Vec::new();
    if waits_for_a_person {
        reasons.push(format!(
            "plugin `{plugin}` runs it: what it does is not known here, and the file wants a person to be asked"
        ));
    } else {
        reasons.push(format!("plugin `{plugin}` runs it, and the file lets it run without asking (`approval`)"));
    }
    if is_always_asked {
        reasons.push(ALWAYS_ASKED.to_owned());
    }
    let is_asked = waits_for_a_person || is_always_asked;
    if let Some(character) = hidden::first(arguments).filter(|_| is_asked) {
        reasons.push(format!("its arguments hold {}", hidden::described(character)));
    }
    Assessment { risk: if is_asked { Risk::High } else { Risk::Low }, reasons }
}

const ALWAYS_ASKED: &str = "the project wants a person to be asked about every call (`approval: always`)";

type Reason = (Risk, String);

fn high(reason: impl Into<String>) -> Reason {
    (Risk::High, reason.into())
}

fn of_the_tool(request: &NodeRequest) -> Reason {
    match request {
        NodeRequest::Read { .. } => (Risk::Low, "reads a file and changes nothing".to_owned()),
        NodeRequest::List { .. } => (Risk::Low, "lists a folder and changes nothing".to_owned()),
        NodeRequest::Write(_) => (Risk::Medium, "writes a file".to_owned()),
        NodeRequest::Edit { .. } => (Risk::Medium, "changes a file".to_owned()),
        NodeRequest::Delete { .. } => high("deletes a file"),
        NodeRequest::Execute(_) => high("runs a command: what it does is seen only afterwards"),
    }
}

/// An edit has to say what it replaces, and appending replaces nothing.
fn of_overwriting(request: &NodeRequest, known: Known<'_>) -> Option<Reason> {
    let NodeRequest::Write(write) = request else { return None };
    if write.mode == Mode::Append || known.has_read {
        return None;
    }
    match known.exists {
        Some(false) => None,
        Some(true) => Some(high("replaces a file that the agent has not read as it is now")),
        None => Some(high("may replace a file that the agent has not read: whether there is one is not known")),
    }
}

/// A new file is in the arguments; of one that is there, nobody sees what would become of it.
fn of_changing_unseen(request: &NodeRequest, known: Known<'_>) -> Option<Reason> {
    let changes = matches!(request, NodeRequest::Write(_) | NodeRequest::Edit { .. });
    let is_there = known.exists != Some(false);
    (changes && is_there && known.is_unseen)
        .then(|| high("changes a file of which it could not be shown what would change"))
}

fn of_the_network(known: Known<'_>) -> Option<Reason> {
    known.network.then(|| high("may use the network: what it reads can leave the machine"))
}

/// It makes nothing more dangerous; it says why a person is asked.
fn of_the_project(known: Known<'_>) -> Option<Reason> {
    known.is_always_asked.then(|| (Risk::Low, ALWAYS_ASKED.to_owned()))
}

fn of_the_name(request: &NodeRequest, path: &str) -> Option<Reason> {
    let (pattern, guard) = guard_of(path)?;
    (guard == Guard::Secret || !request.tool().only_looks())
        .then(|| high(format!("`{pattern}` is protected: {}", guard.as_sentence())))
}

/// Only the first character of each part is told: one is enough to be careful.
fn of_what_is_shown(request: &NodeRequest, known: Known<'_>) -> Vec<Reason> {
    let shown = shown(request).into_iter();
    let shown = shown.chain(known.resolved.map(|path| Part::Name("path behind the link", path)));
    let shown = shown.chain(known.also_shown.iter().map(|text| Part::Text("text shown with it", text)));
    let found = shown.filter_map(|part| match part {
        Part::Name(what, text) => Some((what, hidden::first_in_a_line(text)?)),
        Part::Text(what, text) => Some((what, hidden::first(text)?)),
    });
    found.map(|(what, character)| high(format!("the {what} holds {}", hidden::described(character)))).collect()
}

/// A part of a call that somebody will look at, and what it is called.
enum Part<'a> {
    /// Stands on one line.
    Name(&'static str, &'a str),
    Text(&'static str, &'a str),
}

fn shown(request: &NodeRequest) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = request.path().map(|path| Part::Name("path", path)).into_iter().collect();
    match request {
        NodeRequest::Read { .. } | NodeRequest::Delete { .. } => {}
        NodeRequest::Write(write) => parts.push(Part::Text("content", &write.content)),
        NodeRequest::List { pattern, .. } => {
            parts.extend(pattern.as_ref().map(|pattern| Part::Name("pattern", pattern.as_str())));
        }
        NodeRequest::Edit { old, new, .. } => {
            parts.extend([Part::Text("text to be replaced", old), Part::Text("new text", new)]);
        }
        NodeRequest::Execute(command) => {
            parts.push(Part::Name("program", &command.program));
            parts.extend(command.cwd.as_ref().map(|cwd| Part::Name("working directory", cwd)));
            parts.extend(command.args.iter().map(|argument| Part::Text("argument", argument)));
        }
    }
    parts
}

#[cfg(test)]
mod tests;
