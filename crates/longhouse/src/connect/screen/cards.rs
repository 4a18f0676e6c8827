//! Things as they are shown: what waits for an answer and what happened here, each a line and a card with all there is to know.
//!
//! Everything comes from a house or a model. It becomes text here, and only here, with all that a terminal would obey or hide
//! written out.

use super::super::lines;
use domain::risks::{made_visible, made_visible_in_a_line};
use domain::times::Timestamp;
use domain::tool_calls::Risk;
use node::{Outcome, Question};
use protocol::approvals::Approval;
use protocol::tool_calls::{Preview, ToolCall};
use serde_json::Value;
use std::sync::Arc;

/// Of a call that is over nobody decides anything: the beginning of a long text is enough.
const TOLD_LONGEST_BYTES: usize = 16 * 1024;

/// How the ids of this node's own questions begin.
const OF_NODE: &str = "question-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tint {
    Plain,
    Heading,
    Added,
    Removed,
    Place,
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) tint: Tint,
    pub(super) text: String,
}

pub(super) type Card = Arc<Vec<Row>>;

/// Who wants the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asker {
    /// This node, because of `--ask-locally`.
    Here {
        number: u64,
    },
    House {
        project: String,
        digest: String,
    },
}

/// Something that waits for a yes or a no.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) id: String,
    pub(super) asker: Asker,
    pub(super) title: String,
    pub(super) risk: String,
    pub(super) wants_second_yes: bool,
    /// Why a yes is not offered.
    pub(super) not_offered: Option<&'static str>,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) card: Card,
    /// An answer is under way.
    pub(super) is_answered: bool,
}

/// A call on this machine.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) state: String,
    pub(super) card: Card,
}

impl Waiting {
    /// Whether the house gives it an id that only this node's own questions have: things are chosen by their ids, and what is
    /// chosen is not to become another thing.
    pub(super) fn poses_as_own(asked: &Approval) -> bool {
        asked.id.starts_with(OF_NODE)
    }

    /// `here`: the id of this node.
    pub(super) fn of_house(asked: &Approval, here: &str) -> Self {
        let risk = asked.risk.as_ref();
        let level = risk.map_or("HIGH", |risk| risk.level.as_str());
        let mut card = Writing::new(&format!("{} {}", asked.tool, lines::object(&asked.params)));
        let machine = machine(asked);
        let is_here = asked.node.as_deref() == Some(here);
        if is_here {
            card.fact("machine", &format!("{machine}: this one"));
        } else {
            card.warn(&format!("On another machine: {machine}"));
        }
        card.fact("risk", level);
        risk.into_iter().flat_map(|risk| &risk.reasons).for_each(|reason| card.fact("", reason));
        if asked.network {
            card.warn("It may use the network.");
        }
        let shown = match (&asked.preview, &asked.plugin) {
            (Some(found), _) => card.found(found),
            (None, Some(plugin)) => {
                card.fact("plugin", &plugin.name);
                card.fact("says", &plugin.description);
                Shown::All
            }
            (None, None) => {
                card.warn("The machine could not be asked beforehand what this would do.");
                Shown::All
            }
        };
        let shown = if asked.cut { Shown::Beginning } else { shown };
        card.arguments(&asked.params);
        if let Some(why) = &asked.why {
            card.heading("why");
            card.beginning(&format!("asked: {}", why.asked));
            card.beginning(&format!("the agent said: {}", why.said));
        }
        card.heading("who and where");
        card.fact("agent", &format!("{} ({})", asked.agent, asked.agent_id));
        card.fact("for", &asked.on_behalf_of);
        card.fact("session", asked.session.as_deref().unwrap_or("none"));
        if let Some(knew) = &asked.session_knew {
            card.fact("knew", &format!("{} keys at rev {} (longhouse approvals context)", knew.keys, knew.rev));
        }
        card.fact("project", &asked.project);
        card.fact("node", asked.node.as_deref().unwrap_or("not known"));
        card.fact("id", &format!("{} {}", asked.id, asked.tool_call_id));
        card.fact("digest", &asked.digest);
        let title = title(&asked.tool, &asked.params, &asked.agent, &asked.on_behalf_of);
        // First, for the end of a row may not be seen.
        let place = if is_here { String::new() } else { format!("[not here: {machine}] ") };
        Self {
            id: asked.id.clone(),
            asker: Asker::House { project: asked.project.clone(), digest: asked.digest.clone() },
            title: one_line(&format!("{place}{title}")),
            risk: one_line(level),
            wants_second_yes: level != Risk::Medium.as_str() || asked.preview.is_none() || shown == Shown::Nothing,
            not_offered: shown.why_not_offered(),
            expires_at: Some(asked.expires_at),
            card: card.done(),
            is_answered: false,
        }
    }

    /// What the node itself asks, by its own judgement.
    pub(super) fn of_node(number: u64, question: &Question) -> Self {
        let Question { call, found, risk, reasons } = question;
        let mut card = Writing::new(&format!("{} {}", call.tool, lines::object(&call.params)));
        card.warn("The house has agreed. This machine asks you, too (--ask-locally).");
        card.fact("risk", risk.as_str());
        reasons.iter().for_each(|reason| card.fact("", reason));
        if call.network {
            card.warn("It may use the network.");
        }
        let shown = card.found(found);
        card.arguments(&call.params);
        card.heading("who and where");
        card.of_call(call);
        Self {
            // A call may be asked about again after a restart of the house.
            id: format!("{OF_NODE}{number}"),
            asker: Asker::Here { number },
            title: one_line(&title(&call.tool, &call.params, &call.agent, &call.on_behalf_of)),
            risk: risk.as_str().to_owned(),
            wants_second_yes: *risk != Risk::Medium || shown == Shown::Nothing,
            not_offered: shown.why_not_offered(),
            expires_at: question.ends_at(),
            card: card.done(),
            is_answered: false,
        }
    }
}

impl Made {
    /// `outcome`: none while it is under way.
    pub(super) fn new(call: &ToolCall, outcome: Option<&Outcome>) -> Self {
        let state = outcome.map_or_else(|| "running".to_owned(), lines::ending);
        let mut card = Writing::new(&format!("{} {}", call.tool, lines::object(&call.params)));
        card.fact("state", &state);
        card.of_call(call);
        card.heading("arguments");
        card.beginning(&serde_json::to_string_pretty(&call.params).unwrap_or_default());
        if let Some(outcome) = outcome {
            card.heading("result");
            for (name, value) in &outcome.result {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                card.beginning(&format!("{name}: {text}"));
            }
        }
        let title = one_line(&title(&call.tool, &call.params, &call.agent, &call.on_behalf_of));
        Self { id: call.id.clone(), title, state: one_line(&state), card: card.done() }
    }
}

/// The machine and the folder on it, or the id of a node that is gone.
fn machine(asked: &Approval) -> String {
    match (&asked.node_name, &asked.root_label) {
        (Some(name), Some(label)) => format!("{name} ({label})"),
        _ => asked.node.clone().unwrap_or_else(|| "not known".to_owned()),
    }
}

fn title(tool: &str, params: &Value, agent: &str, on_behalf_of: &str) -> String {
    format!("{} {} ({agent} for {on_behalf_of})", tool.trim_start_matches("tool_"), lines::object(params))
}

/// A name or a sentence from elsewhere, for one line of the screen.
pub(super) fn one_line(text: &str) -> String {
    made_visible_in_a_line(text)
}

/// How much of a change could be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    Beginning,
    Nothing,
}

impl Shown {
    fn why_not_offered(self) -> Option<&'static str> {
        (self == Self::Beginning).then_some("a yes is not offered: the diff was cut, not all of it can be shown")
    }
}

/// A card while it is written.
struct Writing(Vec<Row>);

impl Writing {
    fn new(title: &str) -> Self {
        let mut card = Self(Vec::new());
        card.row(Tint::Heading, one_line(title));
        card
    }

    fn row(&mut self, tint: Tint, text: String) {
        self.0.push(Row { tint, text });
    }

    fn fact(&mut self, name: &str, value: &str) {
        self.row(Tint::Plain, format!("{name:<9}{}", one_line(value)));
    }

    fn heading(&mut self, name: &str) {
        self.row(Tint::Plain, String::new());
        self.row(Tint::Heading, name.to_owned());
    }

    fn warn(&mut self, text: &str) {
        self.row(Tint::Warning, one_line(text));
    }

    fn text(&mut self, text: &str) {
        // A terminal would move its cursor; here a tab is the blanks that it looks like.
        let text = made_visible(text).replace('\t', "    ");
        text.lines().for_each(|line| self.row(Tint::Plain, line.to_owned()));
    }

    /// So much of a long text; that it was cut is said.
    fn beginning(&mut self, text: &str) {
        let end = text.floor_char_boundary(TOLD_LONGEST_BYTES);
        self.text(&text[..end]);
        if end < text.len() {
            self.warn(&format!("[{} more bytes are not shown]", text.len() - end));
        }
    }

    fn of_call(&mut self, call: &ToolCall) {
        self.fact("agent", &format!("{} ({})", call.agent, call.agent_id));
        self.fact("for", &call.on_behalf_of);
        self.fact("session", call.session.as_deref().unwrap_or("none"));
        self.fact("project", &call.project);
        self.fact("id", &call.id);
    }

    /// What the node found beforehand; answers how much of the change could be shown.
    fn found(&mut self, found: &Preview) -> Shown {
        let facts = [("path", &found.path), ("program", &found.program), ("runs in", &found.cwd)];
        for (name, value) in facts.into_iter().chain([("replaces", &found.base_sha256)]) {
            value.iter().for_each(|value| self.fact(name, value));
        }
        for (word, file) in &found.starts {
            self.fact("starts", &format!("{word}: {file}"));
        }
        if !found.environment.is_empty() {
            self.fact("sees", &found.environment.join(" "));
        }
        if let Some(refusal) = &found.refusal {
            self.warn(&format!("This machine would refuse it: {}", refusal.message));
        }
        if let Some(why) = &found.no_diff {
            self.warn(&format!("No diff: {why}"));
            // Too long is as good as cut: there is nothing to say yes to.
            return if found.diff_cut { Shown::Beginning } else { Shown::Nothing };
        }
        found.diff.iter().for_each(|diff| self.diff(diff));
        if found.diff_cut {
            self.warn("The rest is not shown.");
            return Shown::Beginning;
        }
        Shown::All
    }

    /// All of them, as they are.
    fn arguments(&mut self, params: &Value) {
        self.heading("arguments");
        self.text(&serde_json::to_string_pretty(params).unwrap_or_default());
    }

    fn diff(&mut self, diff: &str) {
        self.heading("what would change");
        for line in diff.lines() {
            let tint = match line.as_bytes().first() {
                Some(b'+') => Tint::Added,
                Some(b'-') => Tint::Removed,
                Some(b'@') => Tint::Place,
                _ => Tint::Plain,
            };
            self.row(tint, made_visible(line).replace('\t', "    "));
        }
    }

    fn done(self) -> Card {
        Arc::new(self.0)
    }
}
