//! What was said, in the words of a model's conversation.
//!
//! A call is told only together with its result, and in a form that no provider refuses, whatever a model once wrote:
//! else one bad call that is kept would stop every later turn of its session.

use crate::arguments;
use crate::cuts::bounded;
use crate::host::KeptCall;
use crate::prompts::one_line;
use crate::turns::{PastStep, Said};
use llm::{Message, ToolCall};
use std::collections::HashSet;

const WORD_LONGEST: usize = 64;
const NAMELESS_TOOL: &str = "unknown_tool";

/// Messages that are told together or not at all, and what they take.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) messages: Vec<Message>,
    pub(crate) tokens: u64,
}

impl Told {
    fn new(messages: Vec<Message>) -> Self {
        let tokens = messages.iter().map(llm::tokens::of_message).sum();
        Self { messages, tokens }
    }

    /// One thing of the history. It may be nothing.
    pub(crate) fn said(said: &Said, result_most_bytes: usize) -> Self {
        let text = match said {
            Said::Asked { by, to, text } => {
                let by = by.as_deref().map(bracketed).unwrap_or_default();
                let to = to.as_deref().map(|to| bracketed(&format!("to {to}"))).unwrap_or_default();
                format!("{by}{to}{text}")
            }
            Said::Answered(step) => return Self::step(step, result_most_bytes),
            Said::Overheard { agent, text } => format!("{}{text}", bracketed(agent)),
            Said::Summary { text } => format!("[summary of what was said before]\n{text}"),
        };
        Self::new(vec![Message::User { text }])
    }

    /// What this agent said, with each call that has a result. Calls that wait for one are no part of it.
    pub(crate) fn step(step: &PastStep, result_most_bytes: usize) -> Self {
        let answered = || step.calls.iter().filter_map(|call| Some((call, call.result.as_ref()?)));
        let calls: Vec<ToolCall> = answered().map(|(call, _)| as_written(call)).collect();
        if calls.is_empty() && step.text.trim().is_empty() {
            return Self::new(Vec::new());
        }
        let results = answered().map(|(call, (content, is_error))| Message::ToolResult {
            call_id: call.id.clone(),
            content: bounded(content.clone(), result_most_bytes),
            is_error: *is_error,
        });
        let mut messages = vec![Message::Assistant { text: step.text.clone(), calls }];
        messages.extend(results);
        Self::new(messages)
    }

    pub(crate) fn note(text: &str) -> Self {
        Self::new(vec![Message::User { text: text.to_owned() }])
    }
}

/// Who spoke. Brackets within a name would let it end early.
fn bracketed(name: &str) -> String {
    format!("[{}] ", one_line(&name.replace(['[', ']'], " ")))
}

/// A call as it was kept, with whatever cannot be sent put into a form that can.
fn as_written(call: &KeptCall) -> ToolCall {
    let name = if is_word(&call.tool, b"_-.") { call.tool.as_str() } else { NAMELESS_TOOL };
    let arguments = if arguments::parse(&call.arguments).is_ok() { call.arguments.as_str() } else { "{}" };
    ToolCall { id: call.id.clone(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn is_word(text: &str, also: &[u8]) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || also.contains(&byte);
    !text.is_empty() && text.len() <= WORD_LONGEST && text.bytes().all(allowed)
}

/// Gives calls other ids where theirs came before or cannot be sent: some models count anew in every answer, and other
/// providers refuse a conversation that has an id twice. Results follow their calls in order.
pub(crate) fn tell_ids_apart(messages: &mut [Message]) {
    let mut seen: HashSet<String> = HashSet::new();
    let mut open = Vec::new().into_iter();
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                for call in calls.iter_mut() {
                    let mut count = 1_u64;
                    while !is_word(&call.id, b"_-") || seen.contains(&call.id) {
                        call.id = format!("call_{}_{count}", seen.len());
                        count += 1;
                    }
                    seen.insert(call.id.clone());
                }
                open = calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>().into_iter();
            }
            Message::ToolResult { call_id, .. } => {
                if let Some(id) = open.next() {
                    *call_id = id;
                }
            }
            Message::User { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, result: Option<&str>) -> KeptCall {
        let result = result.map(|content| (content.to_owned(), false));
        KeptCall { id: id.to_owned(), tool: "note.write".to_owned(), arguments: r#"{"a":1}"#.to_owned(), result }
    }

    fn user(said: &Said) -> String {
        match &Told::said(said, 1000).messages[..] {
            [Message::User { text }] => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_spoke_to_whom_stands_before_what_was_said() {
        let asked = |by: Option<&str>, to: Option<&str>| {
            user(&Said::Asked { by: by.map(str::to_owned), to: to.map(str::to_owned), text: "hello".to_owned() })
        };
        assert_eq!(asked(None, None), "hello");
        assert_eq!(asked(Some("Ana"), None), "[Ana] hello");
        assert_eq!(asked(None, Some("critic")), "[to critic] hello");
        assert_eq!(asked(Some("Ana"), Some("critic")), "[Ana] [to critic] hello");
        assert_eq!(asked(Some("Ana] [to\nx"), None), "[Ana to x] hello");
        assert_eq!(user(&Said::Overheard { agent: "critic".to_owned(), text: "no".to_owned() }), "[critic] no");
        assert_eq!(user(&Said::Summary { text: "short".to_owned() }), "[summary of what was said before]\nshort");
    }

    #[test]
    fn calls_are_told_with_their_results_or_not_at_all() {
        let step = |text: &str, calls: Vec<KeptCall>| {
            Told::said(&Said::Answered(PastStep { text: text.to_owned(), calls }), 1000).messages
        };
        let told = step("", vec![call("one", Some("done")), call("two", None)]);
        let [Message::Assistant { calls, .. }, Message::ToolResult { call_id, content, .. }] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((calls.len(), calls[0].id.as_str(), call_id.as_str(), content.as_str()), (1, "one", "one", "done"));
        assert_eq!(step("", vec![call("two", None)]), []);
        assert_eq!(step(" ", vec![]), []);
        assert_eq!(step("hm", vec![call("two", None)]), [Message::Assistant { text: "hm".to_owned(), calls: vec![] }]);
    }

    #[test]
    fn what_a_model_wrote_badly_is_told_in_a_form_that_can_be_sent() {
        let bad = KeptCall { tool: "rm -rf /".to_owned(), arguments: "{\"a\":".to_owned(), ..call("one", None) };
        let told = as_written(&bad);
        assert_eq!((told.name.as_str(), told.arguments.as_str()), (NAMELESS_TOOL, "{}"));
        assert_eq!(as_written(&call("one", None)).arguments, r#"{"a":1}"#);
    }

    #[test]
    fn ids_are_told_apart_and_results_follow_their_calls() {
        let step = |ids: [&str; 2]| {
            let calls = ids.map(|id| call(id, Some(id))).to_vec();
            Told::step(&PastStep { text: String::new(), calls }, 1000).messages
        };
        let mut messages = [step(["a", "b"]), step(["a", "a"]), step(["", "call_2_1"]), step(["c", "x y"])].concat();
        tell_ids_apart(&mut messages);
        let mut ids = Vec::new();
        for step in messages.chunks(3) {
            let [Message::Assistant { calls, .. }, results @ ..] = step else { panic!("{step:?}") };
            for (call, result) in calls.iter().zip(results) {
                assert!(matches!(result, Message::ToolResult { call_id, .. } if *call_id == call.id), "{step:?}");
                ids.push(call.id.clone());
            }
        }
        assert_eq!((ids.len(), ids.iter().collect::<HashSet<_>>().len()), (8, 8), "{ids:?}");
        assert_eq!((&ids[0][..], &ids[1][..], &ids[6][..]), ("a", "b", "c"), "good ones stay");
        assert!(ids.iter().all(|id| is_word(id, b"_-")), "{ids:?}");
    }
}
