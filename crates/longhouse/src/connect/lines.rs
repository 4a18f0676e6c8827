//! What a node shows on its terminal: a quiet line for each call.

use super::identities::Identity;
use crate::cli::Connect;
use crate::output::{say as plain, visible};
use domain::risks::made_visible;
use node::{Hands, News, Outcome};
use protocol::tool_calls::{Preview, ToolCall};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Mutex;

pub(super) fn say(text: &str) {
    plain(&visible(text));
}

pub(super) fn show_code(code: &str) {
    say(&format!(
        "to let this machine in, confirm the code {code} where you are signed in: `longhouse pair confirm {code}`"
    ));
}

pub(super) fn greet(identity: &Identity, root: &Path, hands: &Hands, options: &Connect) {
    say(&format!("{} works for {} in {}", identity.name, identity.user, root.display()));
    if options.read_only {
        say("read only: nothing is changed here, whoever agrees");
    } else if let Some(why) = hands.commands_are_off() {
        say(&format!("commands are off: {why}"));
    }
    if options.allow_network {
        say("commands may use the network, where the rules of the workspace let them");
    }
    if options.ask_locally {
        say("you are asked here, too, before anything is changed or run");
    }
}

pub(super) fn tell(news: News) {
    match news {
        News::Began(_) => {}
        News::Ended { call, outcome } => say(&format!("{} {}", about(&call), ending(&outcome))),
        News::Trouble(text) => say(&text),
    }
}

/// The tool and what it is about.
fn about(call: &ToolCall) -> String {
    let what = call.params["path"].as_str().or_else(|| call.params["program"].as_str()).unwrap_or_default();
    format!("{} {} {what} ({} for {}):", call.id, call.tool, call.agent, call.on_behalf_of)
}

fn ending(outcome: &Outcome) -> String {
    let error = outcome.result.get("error").and_then(|error| error["message"].as_str());
    let why = error.or_else(|| outcome.reason.as_ref().map(|reason| reason.message.as_str()));
    why.map_or_else(|| outcome.status.to_owned(), |why| format!("{}: {why}", outcome.status))
}

/// Asks whoever sits here. One question at a time; anything but a yes is a no.
pub(super) fn ask(call: &ToolCall, found: &Preview) -> bool {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let arguments = serde_json::to_string_pretty(&call.params).unwrap_or_default();
    let diff = found.diff.as_deref().unwrap_or_default();
    let network = if call.network { "it may use the network\n" } else { "" };
    say(&made_visible(&format!("{}\n{arguments}\n{network}{diff}", about(call))));
    let _ = write!(std::io::stderr(), "longhouse: shall it be done here? [y/N] ");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}
