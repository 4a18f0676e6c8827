//! What a node shows on its terminal: a quiet line for each call.

use super::Notice;
use crate::output::{say as plain, visible};
use crate::stdin::{self, Line};
use domain::risks::made_visible;
use node::{News, Outcome, Question};
use protocol::tool_calls::ToolCall;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::Mutex;

pub(super) fn say(text: &str) {
    plain(&visible(text));
}

pub(super) fn show_code(code: &str) {
    say(&format!(
        "to let this machine in, confirm the code {code} where you are signed in: `longhouse pair confirm {code}`"
    ));
}

/// `greeting`: what is said when the house has let it in.
pub(super) fn tell(greeting: &[String], notice: Notice) {
    match notice {
        Notice::LetIn => greeting.iter().for_each(|line| say(line)),
        Notice::Connected => {}
        Notice::Away(text) => say(&text),
        Notice::News(news) => tell_news(&news),
    }
}

pub(super) fn tell_news(news: &News) {
    match news {
        News::Began(_) => {}
        News::Ended { call, outcome } => say(&format!("{} {}: {}", call.id, about(call), ending(outcome))),
        News::Trouble(text) => say(text),
        News::Stopped(Some(why)) => say(&format!("every call is refused: {why}")),
        News::Stopped(None) => say("the journal is written again: calls are taken"),
    }
}

/// The tool, what it is about, and who wants it.
pub(super) fn about(call: &ToolCall) -> String {
    format!("{} {} ({} for {})", call.tool, object(&call.params), call.agent, call.on_behalf_of)
}

/// What a call is about, in one word.
pub(crate) fn object(params: &serde_json::Value) -> &str {
    params["path"].as_str().or_else(|| params["program"].as_str()).unwrap_or_default()
}

pub(super) fn ending(outcome: &Outcome) -> String {
    let error = outcome.result.get("error").and_then(|error| error["message"].as_str());
    let why = error.or_else(|| outcome.reason.as_ref().map(|reason| reason.message.as_str()));
    why.map_or_else(|| outcome.status.to_owned(), |why| format!("{}: {why}", outcome.status))
}

/// Asks whoever sits here. One question at a time; anything but a yes is a no.
pub(super) fn ask(question: &Question) -> bool {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    say(&shown(question));
    forget_what_was_typed();
    answer(question, &mut std::io::stdin().lock())
}

/// An answer that was typed before the question is an answer to something else.
fn forget_what_was_typed() {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        // Where that fails the terminal has gone, and nobody answers.
        let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
    }
}

/// All that is asked about, and what of it cannot be shown.
fn shown(question: &Question) -> String {
    let Question { call, found, risk, reasons } = question;
    let arguments = serde_json::to_string_pretty(&call.params).unwrap_or_default();
    let about = format!("{} {}", call.id, about(call));
    let mut lines = vec![about, format!("{}: {}", risk.as_str(), reasons.join("; ")), arguments];
    if call.network {
        lines.push("it may use the network".to_owned());
    }
    lines.extend(found.diff.clone());
    lines.extend(found.no_diff.as_ref().map(|why| format!("no diff: {why}")));
    lines.extend(found.refusal.as_ref().map(|refusal| format!("this machine would refuse it: {}", refusal.message)));
    if found.diff_cut {
        lines.push("the rest of the diff is not shown, so it is not done".to_owned());
    }
    made_visible(&lines.join("\n"))
}

/// What could not be shown whole is a no, and nobody is asked for it.
fn answer(question: &Question, input: &mut impl BufRead) -> bool {
    if question.found.diff_cut {
        return false;
    }
    let _ = write!(std::io::stderr(), "longhouse: shall it be done here? [y/N] ");
    is_yes(input)
}

/// A line is one answer however long it is; the end of the input is a no.
fn is_yes(input: &mut impl BufRead) -> bool {
    matches!(stdin::next(input), Some(Line::Text(text)) if matches!(text.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::super::screen::asked_here;
    use super::*;
    use protocol::messages::Failure;
    use protocol::tool_calls::Preview;

    #[test]
    fn what_of_a_change_cannot_be_shown_is_said_and_what_was_cut_is_a_no() {
        let refusal = Some(Failure { code: "FORBIDDEN".to_owned(), message: "it \u{1b}leads out".to_owned() });
        let rows = [
            (Preview { diff: Some("+all".to_owned()), ..Preview::default() }, "+all", true),
            (Preview { no_diff: Some("not \u{202e}text".to_owned()), ..Preview::default() }, "not \\u{202E}text", true),
            (Preview { refusal, ..Preview::default() }, "would refuse it: it \\u{001B}leads out", true),
            (Preview { diff: Some("+a".to_owned()), diff_cut: true, ..Preview::default() }, "is not shown, so", false),
        ];
        for (found, expected, may_be_done) in rows {
            let question = Question { found, ..asked_here() };
            let shown = shown(&question);
            assert!(shown.contains(expected), "{shown}");
            let mut input = &b"y\n"[..];
            assert_eq!(answer(&question, &mut input), may_be_done, "{expected}");
            assert_eq!(input.is_empty(), may_be_done, "an answer that nobody was asked for is left for the next");
        }
    }

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        let long = format!("{}y\n", "n".repeat(3 * 1024 * 1024));
        let long_blank = format!("{}y\n", " ".repeat(3 * 1024 * 1024));
        let answers: [(&[u8], bool); 15] = [
            (b"y\n", true),
            (b"Y\n", true),
            (b"yes\r\n", true),
            (b"  y \n", true),
            (b"", false),
            (b"\n", false),
            (b"n\ny\n", false),
            (b"oh yes please\n", false),
            (b"yes no\n", false),
            (b"y\0\n", false),
            (b"y\x1b[D\n", false),
            (b"\xff\xfey\n", false),
            ("ｙ\n".as_bytes(), false),
            (long.as_bytes(), false),
            (long_blank.as_bytes(), false),
        ];
        for (mut answer, expected) in answers {
            let shown = String::from_utf8_lossy(&answer[..answer.len().min(20)]).into_owned();
            assert_eq!(is_yes(&mut answer), expected, "{shown:?}");
        }
    }

    #[test]
    fn the_rest_of_a_long_line_answers_no_later_question() {
        let text = format!("{} y\nyes\n", "n".repeat(1024 * 1024 + 1024));
        let mut input = text.as_bytes();
        assert_eq!([is_yes(&mut input), is_yes(&mut input), is_yes(&mut input)], [false, true, false]);
    }
}
