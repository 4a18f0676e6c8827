//! The model that is built in: deterministic, asks nobody, and says so first.
//!
//! Good enough for a tour, tests and measurements. It must never look like a real model: every reply begins with what it
//! is, and it only repeats, lists, counts, and calls what it is told to call.

mod calls;
mod plans;

use crate::{ChatModel, Message, Reply, Request, Result, Stop, ToolCall, tokens};
use domain::prices::{DEMO, Usage};
use futures_util::future::BoxFuture;

const WHO_I_AM: &str = "I am Longhouse's built-in demo model: a fixed program, not intelligence.";
const HOW_TO_CONNECT: &str = "To connect a real model, start the server with OPENAI_API_KEY, ANTHROPIC_API_KEY or \
                              LONGHOUSE_OPENAI_BASE_URL set.";
/// Characters of what is repeated.
const GIST_MOST: usize = 200;
const WORDS_PER_PIECE: usize = 4;
const TOOLS_LISTED_MOST: usize = 40;

#[derive(Debug, Clone, Copy, Default)]
pub struct Demo;

impl ChatModel for Demo {
    fn ask<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let reply = reply(request);
            pieces(&reply.text).for_each(heard);
            Ok(reply)
        })
    }
}

fn reply(request: &Request) -> Reply {
    let (said, mut calls) = answer(request);
    let mut text = format!("{WHO_I_AM}\n{said}");
    let size = |text: &str, calls: &[ToolCall]| {
        tokens::of_text(text) + calls.iter().map(|call| tokens::of_text(&call.arguments)).sum::<u64>()
    };
    let mut stop = Stop::Done;
    if size(&text, &calls) > request.max_tokens {
        // Like any model it keeps to the limit, and what is cut is no call.
        calls.clear();
        text = first(&text, usize::try_from(request.max_tokens).unwrap_or(usize::MAX));
        stop = Stop::Length;
    }
    let usage = Usage { input_tokens: tokens::of_request(request), output_tokens: size(&text, &calls) };
    Reply { text, calls, stop, usage: Some(usage), model: DEMO.to_owned() }
}

fn answer(request: &Request) -> (String, Vec<ToolCall>) {
    let results = results(&request.messages);
    let asked = last_words(&request.messages);
    if is_summary(&request.system) || is_summary(asked) {
        return (digest(request), Vec::new());
    }
    if !results.is_empty() {
        return (results.join("\n"), Vec::new());
    }
    let found = calls::told(asked, &request.tools);
    if !found.calls.is_empty() || !found.problems.is_empty() {
        return calls_made(found);
    }
    if let Some(call) = plans::call(asked, &request.tools) {
        return ("Planning two tasks.".to_owned(), vec![call]);
    }
    if asked.trim().eq_ignore_ascii_case("help") || asked.trim() == "?" {
        return (help(request), Vec::new());
    }
    (echo(request, asked), Vec::new())
}

fn calls_made(found: calls::Told) -> (String, Vec<ToolCall>) {
    let names: Vec<_> = found.calls.iter().map(|call| call.name.as_str()).collect();
    let calling = (!names.is_empty()).then(|| format!("Calling {}, as I was told.", names.join(", ")));
    let lines: Vec<_> = calling.into_iter().chain(found.problems).collect();
    (lines.join("\n"), found.calls)
}

fn echo(request: &Request, asked: &str) -> String {
    let earlier = request.messages.len().saturating_sub(1);
    let (messages, tools) = (counted(earlier, "earlier message"), counted(request.tools.len(), "tool"));
    format!(
        "{HOW_TO_CONNECT}\nYou said: “{}”. I was also given {messages} and {tools}. Say “help” for what I can do.",
        gist(asked)
    )
}

fn help(request: &Request) -> String {
    let names = request.tools.iter().map(|tool| tool.name.as_str()).take(TOOLS_LISTED_MOST).collect::<Vec<_>>();
    let more = request.tools.len().saturating_sub(TOOLS_LISTED_MOST);
    let listed = match (names.is_empty(), more) {
        (true, _) => "No tools are on offer here.".to_owned(),
        (false, 0) => format!("Tools on offer: {}.", names.join(", ")),
        (false, more) => format!("Tools on offer: {} and {more} more.", names.join(", ")),
    };
    format!(
        "{HOW_TO_CONNECT}\nI repeat what you say, and call a tool for each line such as\n\
         call workspace_write {{\"key\": \"greeting\", \"value\": \"hello\"}}\n\
         Asked for a plan where plans are made, I plan two tasks.\n{listed}"
    )
}

fn digest(request: &Request) -> String {
    let said = request.messages.iter().filter_map(|message| match message {
        Message::User { text } if !is_summary(text) => Some(("user", text)),
        Message::Assistant { text, .. } if !text.is_empty() => Some(("assistant", text)),
        _ => None,
    });
    let lines: Vec<_> = said.map(|(who, text)| format!("{who}: {}", first(gist(text).as_str(), 80))).collect();
    let skipped = lines.len().saturating_sub(6);
    let count = counted(request.messages.len(), "message");
    format!("Summary of {count}, the newest last:\n{}", lines[skipped..].join("\n"))
}

fn is_summary(text: &str) -> bool {
    let beginning: String = text.trim_start().chars().take(9).collect();
    matches!(beginning.to_ascii_lowercase().as_str(), "summarise" | "summarize")
}

/// What became of the calls of the last step, a line each.
fn results(messages: &[Message]) -> Vec<String> {
    let is_result = |message: &&Message| matches!(message, Message::ToolResult { .. });
    let count = messages.iter().rev().take_while(is_result).count();
    let (before, last) = messages.split_at(messages.len() - count);
    let name_of = |id: &str| match before.last() {
        Some(Message::Assistant { calls, .. }) => calls.iter().find(|call| call.id == id).map(|call| &call.name),
        _ => None,
    };
    let line = |message: &Message| match message {
        Message::ToolResult { call_id, content, is_error } => {
            let name = name_of(call_id).map_or("A tool", String::as_str);
            let verb = if *is_error { "failed with" } else { "answered" };
            Some(format!("{name} {verb}: {}", gist(content)))
        }
        _ => None,
    };
    last.iter().filter_map(line).collect()
}

fn last_words(messages: &[Message]) -> &str {
    let words = messages.iter().rev().find_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    words.unwrap_or_default()
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn gist(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > GIST_MOST { format!("{}…", first(&line, GIST_MOST)) } else { line }
}

fn first(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// The text in groups of words, which together are the text again.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.split_inclusive(char::is_whitespace).take(WORDS_PER_PIECE).map(str::len).sum();
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests;
