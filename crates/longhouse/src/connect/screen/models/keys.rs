//! What each key does.

use super::super::cards::{Asker, Waiting};
use super::{Effect, Focus, Model, View};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the house takes as a reason, and a little less.
const REASON_LONGEST: usize = 400;

impl Model {
    pub(super) fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return vec![Effect::Quit];
        }
        if is_control || key.modifiers.contains(KeyModifiers::ALT) {
            return Vec::new();
        }
        match &mut self.view {
            View::Reason(text) => match key.code {
                KeyCode::Char(c) if text.chars().count() < REASON_LONGEST => text.push(c),
                KeyCode::Backspace => drop(text.pop()),
                KeyCode::Esc => self.view = View::Lists,
                KeyCode::Enter => return self.reject(),
                _ => {}
            },
            View::Help if key.code != KeyCode::Char('q') => self.view = View::Lists,
            View::Help | View::Lists | View::Card => return self.press_plain(key.code),
        }
        Vec::new()
    }

    fn press_plain(&mut self, key: KeyCode) -> Vec<Effect> {
        if key != KeyCode::Char('y') {
            self.armed = None;
        }
        let is_card = self.view == View::Card;
        match key {
            KeyCode::Char('q') => return vec![Effect::Quit],
            KeyCode::Char('y') => return self.agree(),
            KeyCode::Char('n') => return self.disagree(),
            KeyCode::Char('u') => return self.undo(),
            KeyCode::Char('?') => self.view = View::Help,
            KeyCode::Tab | KeyCode::BackTab if !is_card => self.turn(),
            KeyCode::Enter if !is_card && self.has_selected() => self.view = View::Card,
            KeyCode::Enter if !is_card => self.step(true),
            KeyCode::Enter | KeyCode::Esc => self.view = View::Lists,
            KeyCode::Down | KeyCode::Char('j') if is_card => self.selection.scroll(1, true),
            KeyCode::Up | KeyCode::Char('k') if is_card => self.selection.scroll(1, false),
            KeyCode::Down | KeyCode::Char('j') => self.step(true),
            KeyCode::Up | KeyCode::Char('k') => self.step(false),
            KeyCode::PageDown | KeyCode::Char(' ') => self.selection.scroll(self.page(), true),
            KeyCode::PageUp => self.selection.scroll(self.page(), false),
            KeyCode::Home | KeyCode::Char('g') => self.selection.scroll(usize::MAX, false),
            KeyCode::End | KeyCode::Char('G') => self.selection.scroll(usize::MAX, true),
            _ => {}
        }
        Vec::new()
    }

    /// Only words for a reason are taken from elsewhere: pasted letters are no keys.
    pub(super) fn paste(&mut self, pasted: &str) {
        if let View::Reason(text) = &mut self.view {
            let room = REASON_LONGEST.saturating_sub(text.chars().count());
            text.extend(pasted.chars().filter(|c| !c.is_control()).take(room));
        }
    }

    fn page(&self) -> usize {
        usize::from(self.size.1 / 2).max(1)
    }

    fn has_selected(&self) -> bool {
        match self.selection.focus {
            Focus::Waiting => self.selected_waiting().is_some(),
            Focus::Made => self.selected_made().is_some(),
        }
    }

    /// To the other list, and there to the first where nothing is chosen.
    fn turn(&mut self) {
        self.selection.turn();
        if !self.has_selected() {
            self.step(true);
        }
    }

    fn step(&mut self, is_down: bool) {
        let ids: Vec<String> = match self.selection.focus {
            Focus::Waiting => self.waiting.iter().map(|waiting| waiting.id.clone()).collect(),
            Focus::Made => self.made.iter().map(|made| made.id.clone()).collect(),
        };
        self.selection.step(&ids, is_down);
    }

    /// What a yes or a no would be about; if there is nothing, that is said.
    fn chosen_to_answer(&mut self) -> Option<Waiting> {
        let found = (self.selection.focus == Focus::Waiting).then(|| self.selected_waiting().cloned()).flatten();
        match &found {
            None => self.note("choose first what to answer: Tab and the arrows"),
            Some(waiting) if waiting.is_answered => {
                self.note("your answer is under way");
                return None;
            }
            Some(_) => {}
        }
        found
    }

    fn agree(&mut self) -> Vec<Effect> {
        let Some(waiting) = self.chosen_to_answer() else { return Vec::new() };
        if !self.shows_card() {
            self.view = View::Card;
            let has_room = self.shows_card();
            self.note(if has_room {
                "look at it first: y agrees"
            } else {
                "make the terminal larger: it is not shown"
            });
            return Vec::new();
        }
        if let Some(why) = waiting.not_offered {
            self.note(why);
            return Vec::new();
        }
        if waiting.expires_at.is_some_and(|end| end <= self.now) {
            self.note("the time to decide is over");
            return Vec::new();
        }
        if waiting.wants_second_yes && !self.is_armed(&waiting) {
            self.note(&format!("{}: y once more agrees, any other key does not", waiting.risk));
            self.armed = Some((waiting.id, waiting.asker));
            return Vec::new();
        }
        self.armed = None;
        self.send(&waiting, None, true)
    }

    /// A house is told why, if there is a reason; this node needs none.
    fn disagree(&mut self) -> Vec<Effect> {
        let Some(waiting) = self.chosen_to_answer() else { return Vec::new() };
        match waiting.asker {
            Asker::Here { .. } => self.send(&waiting, None, false),
            Asker::House { .. } => {
                self.view = View::Reason(String::new());
                Vec::new()
            }
        }
    }

    fn reject(&mut self) -> Vec<Effect> {
        let View::Reason(text) = std::mem::replace(&mut self.view, View::Lists) else { return Vec::new() };
        let Some(waiting) = self.chosen_to_answer() else { return Vec::new() };
        let reason = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        self.send(&waiting, reason, false)
    }

    fn send(&mut self, waiting: &Waiting, reason: Option<String>, yes: bool) -> Vec<Effect> {
        let id = waiting.id.clone();
        match waiting.asker.clone() {
            Asker::Here { number } => {
                self.note(&format!("{}: {}", if yes { "agreed" } else { "refused" }, waiting.title));
                self.waiting.retain(|other| other.asker != waiting.asker);
                self.drop_lost_selection();
                vec![Effect::Answer { number, yes }]
            }
            Asker::House { project, digest } => {
                self.waiting.iter_mut().filter(|other| other.id == id).for_each(|other| other.is_answered = true);
                vec![if yes { Effect::Approve { id, project, digest } } else { Effect::Reject { id, project, reason } }]
            }
        }
    }

    fn undo(&mut self) -> Vec<Effect> {
        let made = (self.selection.focus == Focus::Made).then(|| self.selected_made()).flatten();
        match made {
            Some(made) => vec![Effect::Undo { call: made.id.clone() }],
            None => {
                self.note("choose first which call to undo: Tab and the arrows");
                Vec::new()
            }
        }
    }
}
