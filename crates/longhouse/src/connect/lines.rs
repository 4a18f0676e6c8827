//! What a node shows on its terminal: a quiet line for each call.

use super::Notice;
use crate::output::{say as plain, visible};
use crate::stdin::{self, Line};
use domain::risks::made_visible;
use node::{News, Outcome, Question};
use protocol::tool_calls::ToolCall;
use std::io::{BufRead, Write};
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
    }
}

/// The tool, what it is about, and who wants it.
pub(super) fn about(call: &ToolCall) -> String {
    format!("{} {} ({} for {})", call.tool, object(&call.params), call.agent, call.on_behalf_of)
}

/// What a call is about, in one word.
pub(super) fn object(params: &serde_json::Value) -> &str {
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
    let Question { call, found, risk, reasons } = question;
    let arguments = serde_json::to_string_pretty(&call.params).unwrap_or_default();
    let (diff, reasons) = (found.diff.as_deref().unwrap_or_default(), reasons.join("; "));
    let network = if call.network { "it may use the network\n" } else { "" };
    let about = format!("{} {}", call.id, about(call));
    say(&made_visible(&format!("{about}\n{}: {reasons}\n{arguments}\n{network}{diff}", risk.as_str())));
    let _ = write!(std::io::stderr(), "longhouse: shall it be done here? [y/N] ");
    is_yes(&mut std::io::stdin().lock())
}

/// A line is one answer however long it is; the end of the input is a no.
fn is_yes(input: &mut impl BufRead) -> bool {
    matches!(stdin::next(input), Some(Line::Text(text)) if matches!(text.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
