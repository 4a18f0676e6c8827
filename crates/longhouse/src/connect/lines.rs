//! What a node shows on its terminal: a quiet line for each call.

use super::Notice;
use crate::output::{say as plain, visible};
use domain::risks::made_visible;
use node::{News, Outcome, Question};
use protocol::tool_calls::ToolCall;

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
        News::Began(_) | News::MovedOn(_) => {}
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

/// All that is asked about, and what of it cannot be shown.
pub(super) fn shown(question: &Question) -> String {
    let Question { call, found, risk, reasons } = question;
    let arguments = serde_json::to_string_pretty(&call.params).unwrap_or_default();
    let about = format!("{} {}", call.id, about(call));
    let mut lines = vec![about, format!("{}: {}", risk.as_str(), reasons.join("; ")), arguments];
    if call.network {
        lines.push("it may use the network".to_owned());
    }
    lines.extend(found.starts.iter().map(|(word, file)| format!("{word} is {file}")));
    lines.extend(found.diff.clone());
    lines.extend(found.no_diff.as_ref().map(|why| format!("no diff: {why}")));
    lines.extend(found.refusal.as_ref().map(|refusal| format!("this machine would refuse it: {}", refusal.message)));
    if found.diff_cut {
        lines.push("the rest of the diff is not shown, so it is not done".to_owned());
    }
    made_visible(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::screen::asked_here;
    use super::*;
    use protocol::messages::Failure;
    use protocol::tool_calls::Preview;

    #[test]
    fn what_of_a_change_cannot_be_shown_is_said() {
        let refusal = Some(Failure { code: "FORBIDDEN".to_owned(), message: "it \u{1b}leads out".to_owned() });
        let rows = [
            (Preview { diff: Some("+all".to_owned()), ..Preview::default() }, "+all"),
            (Preview { no_diff: Some("not \u{202e}text".to_owned()), ..Preview::default() }, "not \\u{202E}text"),
            (Preview { refusal, ..Preview::default() }, "would refuse it: it \\u{001B}leads out"),
            (Preview { diff: Some("+a".to_owned()), diff_cut: true, ..Preview::default() }, "is not shown, so"),
        ];
        for (found, expected) in rows {
            let shown = shown(&Question { found, ..asked_here() });
            assert!(shown.contains(expected), "{shown}");
        }
    }
}
