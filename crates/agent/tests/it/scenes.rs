//! Words for scenes: replies, calls, turns, things that were said.

use super::house::House;
use agent::{Called, KeptCall, Past, PastStep, Profile, Said, Turn};
use domain::prices::Usage;
use llm::{Error, Reply, Stop, Tool, ToolCall};
use serde_json::json;
use std::time::Duration;

pub(crate) const USAGE: Usage = Usage { input_tokens: 70, output_tokens: 7 };

/// One answer of the model: what is heard piece by piece, and how it ends.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) deltas: Vec<String>,
    pub(crate) end: Result<Reply, Error>,
}

pub(crate) fn reply(text: &str, calls: &[ToolCall], stop: Stop) -> Scene {
    let deltas = if text.is_empty() { vec![] } else { vec![text.to_owned()] };
    let calls = calls.to_vec();
    let reply = Reply { text: text.to_owned(), calls, stop, usage: Some(USAGE), model: "gpt-9-0101".to_owned() };
    Scene { deltas, end: Ok(reply) }
}

pub(crate) fn says(text: &str) -> Scene {
    reply(text, &[], Stop::Done)
}

pub(crate) fn asks_for(calls: &[ToolCall]) -> Scene {
    reply("", calls, Stop::Done)
}

pub(crate) fn fails(error: Error) -> Scene {
    Scene { deltas: vec![], end: Err(error) }
}

impl Scene {
    pub(crate) fn without_usage(mut self) -> Self {
        self.end.as_mut().unwrap().usage = None;
        self
    }
}

pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: tool.to_owned(), arguments: arguments.to_owned() }
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), description: "a tool".to_owned(), parameters: json!({"type": "object"}) }
}

pub(crate) fn answered(content: &str) -> Called {
    Called::Answered { content: content.to_owned(), is_error: false }
}

pub(crate) fn kept(id: &str, result: Option<&str>) -> KeptCall {
    let result = result.map(|content| (content.to_owned(), false));
    KeptCall { id: id.to_owned(), tool: "note.write".to_owned(), arguments: "{}".to_owned(), result }
}

pub(crate) fn asked(number: u64, text: &str) -> Past {
    Past { number, said: Said::Asked { by: None, to: None, text: text.to_owned() } }
}

pub(crate) fn step(number: u64, text: &str, calls: Vec<KeptCall>) -> Past {
    Past { number, said: Said::Answered(PastStep { text: text.to_owned(), calls }) }
}

pub(crate) fn summary(number: u64, text: &str) -> Past {
    Past { number, said: Said::Summary { text: text.to_owned() } }
}

/// A turn of an agent that is asked "hello" and has all the room it needs.
pub(crate) fn turn(house: &House) -> Turn<'_> {
    let profile = Profile {
        name: "scout".to_owned(),
        role: "finds things out".to_owned(),
        system_prompt: None,
        model: "gpt-9".to_owned(),
        temperature: 0.5,
        max_tokens: 1000,
    };
    Turn {
        profile,
        model: house,
        window_tokens: 100_000,
        skills: String::new(),
        guide: String::new(),
        history: vec![],
        message: asked(1000, "hello"),
        steps: vec![],
        steps_most: 20,
        seed: 7,
    }
}

pub(crate) fn slow_down(seconds: Option<u64>) -> Error {
    Error::RateLimited { retry_after: seconds.map(Duration::from_secs) }
}
