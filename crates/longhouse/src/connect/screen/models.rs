//! What is on the screen, and what becomes of it. Pure: events come in, effects go out, nothing is drawn or sent here.
//!
//! What must stay true: an answer goes to what is selected and shown, and nothing but a key of the person selects anything, not
//! even the first thing in an empty list: a key that is on its way was meant for something else. What wants a second yes gets none by a single key.

mod keys;
mod selections;
#[cfg(test)]
pub(super) mod tests;

pub(super) use selections::{Focus, Selection};

use super::super::Notice;
use super::cards::{Asker, Made, Waiting, one_line};
use super::layouts::places;
use domain::times::Timestamp;
use node::{News, Question};
use protocol::approvals::Approval;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use std::collections::VecDeque;

const MADE_MOST: usize = 200;
const NOTES_MOST: usize = 20;
const DECIDED_MOST: usize = 200;

/// What does not change while the screen is open.
#[derive(Debug, Clone, Default)]
pub(super) struct About {
    /// Its id.
    pub(super) node: String,
    pub(super) name: String,
    pub(super) user: String,
    pub(super) root: String,
    pub(super) server: String,
    /// `--read-only` and its like, in words.
    pub(super) vetoes: String,
    /// What may happen here: shown with the help.
    pub(super) greeting: Vec<String>,
    /// The one project that the node serves: its approvals come first.
    pub(super) project: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    Connected,
    Away(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum View {
    Lists,
    Card,
    Help,
    /// Why not? What was typed so far.
    Reason(String),
}

pub(super) struct Model {
    pub(super) about: About,
    pub(super) link: Link,
    /// Why this machine refuses every call, if so.
    pub(super) stopped: Option<String>,
    /// Why approvals of the house cannot be shown, if so.
    pub(super) no_approvals: Option<String>,
    pub(super) waiting: Vec<Waiting>,
    /// The newest first.
    pub(super) made: VecDeque<Made>,
    pub(super) selection: Selection,
    pub(super) view: View,
    /// What has the first of two yeses.
    armed: Option<(String, Asker)>,
    pub(super) notes: VecDeque<String>,
    /// Approvals that were answered here: a list that was asked for before may still have them.
    decided: VecDeque<String>,
    pub(super) now: Timestamp,
    pub(super) size: (u16, u16),
}

#[derive(Debug)]
pub(super) enum Event {
    Key(KeyEvent),
    Paste(String),
    Clock(Timestamp),
    Size(u16, u16),
    Notice(Notice),
    Asked {
        number: u64,
        question: Box<Question>,
    },
    /// A question is over without an answer.
    Unanswered {
        number: u64,
        /// Its call was taken back, or ended elsewhere; else the time is over.
        has_moved_on: bool,
    },
    /// All that waits for the person, as the house says.
    Approvals(Vec<Approval>),
    NoApprovals(String),
    /// What became of one that waits no longer.
    Resolved(Box<Approval>),
    Answered {
        id: String,
        outcome: Result<String, Failed>,
    },
    /// Of an undo, and of what went wrong.
    Note(String),
    End,
}

/// Why an answer was not taken.
#[derive(Debug)]
pub(super) struct Failed {
    /// Whether there is nothing to answer any more.
    pub(super) is_over: bool,
    pub(super) message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Approve {
        id: String,
        project: String,
        digest: String,
    },
    Reject {
        id: String,
        project: String,
        reason: Option<String>,
    },
    /// To this node's own question.
    Answer {
        number: u64,
        yes: bool,
    },
    Undo {
        call: String,
    },
    /// Who decided?
    LookUp {
        id: String,
    },
    Quit,
}

impl Model {
    pub(super) fn new(about: About, now: Timestamp) -> Self {
        Self {
            about,
            link: Link::Away("connecting".to_owned()),
            stopped: None,
            no_approvals: None,
            waiting: Vec::new(),
            made: VecDeque::new(),
            selection: Selection::default(),
            view: View::Lists,
            armed: None,
            notes: VecDeque::new(),
            decided: VecDeque::new(),
            now,
            size: (0, 0),
        }
    }

    pub(super) fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Paste(text) => self.paste(&text),
            Event::Clock(now) => self.now = now,
            Event::Size(width, height) => self.size = (width, height),
            Event::Notice(notice) => self.notice(notice),
            Event::Asked { number, question } => self.insert(Waiting::of_node(number, &question)),
            Event::Unanswered { number, has_moved_on } => self.unanswered(number, has_moved_on),
            Event::Approvals(list) => return self.replace_approvals(&list),
            Event::NoApprovals(why) => self.no_approvals = Some(one_line(&why)),
            Event::Resolved(approval) => self.note(&resolved(&approval)),
            Event::Answered { id, outcome } => self.answered(&id, outcome),
            Event::Note(text) => self.note(&text),
            Event::End => return vec![Effect::Quit],
        }
        Vec::new()
    }

    pub(super) fn note(&mut self, text: &str) {
        self.notes.push_front(one_line(text));
        self.notes.truncate(NOTES_MOST);
    }

    /// Whether the card of what is selected is to be seen.
    pub(super) fn shows_card(&self) -> bool {
        places(Rect::new(0, 0, self.size.0, self.size.1), &self.view).card.is_some()
    }

    pub(super) fn selected_waiting(&self) -> Option<&Waiting> {
        let id = self.selection.of(Focus::Waiting)?;
        self.waiting.iter().find(|waiting| waiting.id == id)
    }

    pub(super) fn selected_made(&self) -> Option<&Made> {
        let id = self.selection.of(Focus::Made)?;
        self.made.iter().find(|made| made.id == id)
    }

    pub(super) fn is_armed(&self, waiting: &Waiting) -> bool {
        self.armed.as_ref().is_some_and(|(id, asker)| (id, asker) == (&waiting.id, &waiting.asker))
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::LetIn => {}
            Notice::Connected => self.link = Link::Connected,
            Notice::Away(why) => self.link = Link::Away(one_line(&why)),
            Notice::News(news) => match *news {
                News::Trouble(text) => self.note(&text),
                // Its question has left already.
                News::MovedOn(_) => {}
                News::Stopped(why) => self.stopped = why.map(|why| one_line(&why)),
                News::Began(call) => self.put_made(Made::new(&call, None)),
                News::Ended { call, outcome } => self.put_made(Made::new(&call, Some(&outcome))),
            },
        }
    }

    fn put_made(&mut self, made: Made) {
        match self.made.iter_mut().find(|known| known.id == made.id) {
            Some(known) => *known = made,
            None => {
                self.made.push_front(made);
                self.made.truncate(MADE_MOST);
            }
        }
        self.drop_lost_selection();
    }

    /// What this machine asks comes first, then this project's, then the rest; each in the order it was asked.
    fn insert(&mut self, waiting: Waiting) {
        let place = self.place(&waiting.asker);
        let at = self.waiting.partition_point(|other| self.place(&other.asker) <= place);
        self.waiting.insert(at, waiting);
    }

    fn place(&self, asker: &Asker) -> u8 {
        match asker {
            Asker::Here { .. } => 0,
            Asker::House { project, .. } if self.about.project.as_ref() == Some(project) => 1,
            Asker::House { .. } => 2,
        }
    }

    /// The house's list is the truth. `list`: the newest first.
    fn replace_approvals(&mut self, list: &[Approval]) -> Vec<Effect> {
        self.no_approvals = None;
        let is_same = |waiting: &Waiting, asked: &Approval| {
            waiting.id == asked.id && matches!(&waiting.asker, Asker::House { digest, .. } if *digest == asked.digest)
        };
        let (stay, gone): (Vec<Waiting>, Vec<Waiting>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|waiting| {
                // One whose answer is under way is told of by that.
                let is_kept = matches!(waiting.asker, Asker::Here { .. }) || waiting.is_answered;
                is_kept || list.iter().any(|asked| is_same(waiting, asked))
            });
        self.waiting = stay;
        // Before others come: one of them may have its id, and other bytes.
        self.drop_lost_selection();
        for asked in list.iter().rev() {
            let is_known = self.waiting.iter().any(|waiting| is_same(waiting, asked));
            if !is_known && !self.decided.contains(&asked.id) && !Waiting::poses_as_own(asked) {
                self.insert(Waiting::of_house(asked, &self.about.node));
            }
        }
        gone.into_iter().map(|waiting| Effect::LookUp { id: waiting.id }).collect()
    }

    fn answered(&mut self, id: &str, outcome: Result<String, Failed>) {
        let title =
            self.waiting.iter().find(|waiting| waiting.id == id).map_or(id, |waiting| &waiting.title).to_owned();
        match outcome {
            Ok(status) => {
                self.note(&format!("{status}: {title}"));
                self.decided.push_front(id.to_owned());
                self.decided.truncate(DECIDED_MOST);
                self.remove(id);
            }
            Err(Failed { is_over: true, message }) => {
                self.note(&message);
                self.remove(id);
            }
            Err(Failed { is_over: false, message }) => {
                self.note(&format!("not taken: {message}"));
                self.waiting
                    .iter_mut()
                    .filter(|waiting| waiting.id == id)
                    .for_each(|waiting| waiting.is_answered = false);
            }
        }
    }

    fn unanswered(&mut self, number: u64, has_moved_on: bool) {
        let asker = Asker::Here { number };
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.asker == asker) {
            let waiting = self.waiting.remove(at);
            let why = if has_moved_on { "the house is done with it" } else { "nobody answered in time" };
            self.note(&format!("{why}, so it is not done here: {}", waiting.title));
            self.drop_lost_selection();
        }
    }

    fn remove(&mut self, id: &str) {
        self.waiting.retain(|waiting| waiting.id != id);
        self.drop_lost_selection();
    }

    /// A key that was meant for what is gone must not meet what has come into its place.
    fn drop_lost_selection(&mut self) {
        if self.selection.of(Focus::Waiting).is_some() && self.selected_waiting().is_none() {
            self.selection.forget(Focus::Waiting);
            self.leave_card();
        }
        if self.selection.of(Focus::Made).is_some() && self.selected_made().is_none() {
            self.selection.forget(Focus::Made);
            self.leave_card();
        }
        if self.selected_waiting().is_none_or(|waiting| !self.is_armed(waiting)) {
            self.armed = None;
        }
    }

    fn leave_card(&mut self) {
        if matches!(self.view, View::Card | View::Reason(_)) {
            self.view = View::Lists;
        }
    }
}

fn resolved(approval: &Approval) -> String {
    let by = approval.decided_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let why = approval.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let object = super::super::lines::object(&approval.params);
    format!("{} {object} is {}{by}{why}", approval.tool, approval.status)
}
