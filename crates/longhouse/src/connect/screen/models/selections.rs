//! Which list the keys go to, and what is selected in each: by id, for lists move.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) enum Focus {
    #[default]
    Waiting,
    Made,
}

#[derive(Debug, Default)]
pub(in super::super) struct Selection {
    pub(in super::super) focus: Focus,
    waiting: Option<String>,
    made: Option<String>,
    /// How many rows of the card are above its window.
    pub(in super::super) scroll: usize,
}

impl Selection {
    pub(in super::super) fn of(&self, list: Focus) -> Option<&str> {
        match list {
            Focus::Waiting => self.waiting.as_deref(),
            Focus::Made => self.made.as_deref(),
        }
    }

    fn set(&mut self, list: Focus, id: Option<String>) {
        if list == self.focus {
            self.scroll = 0;
        }
        match list {
            Focus::Waiting => self.waiting = id,
            Focus::Made => self.made = id,
        }
    }

    pub(super) fn forget(&mut self, list: Focus) {
        self.set(list, None);
    }

    pub(super) fn turn(&mut self) {
        self.scroll = 0;
        self.focus = match self.focus {
            Focus::Waiting => Focus::Made,
            Focus::Made => Focus::Waiting,
        };
    }

    /// One up or down among `ids`; to the first where nothing is selected.
    pub(super) fn step(&mut self, ids: &[String], is_down: bool) {
        let at = self.of(self.focus).and_then(|id| ids.iter().position(|other| other == id));
        let next = match at {
            None => 0,
            Some(at) if is_down => (at + 1).min(ids.len().saturating_sub(1)),
            Some(at) => at.saturating_sub(1),
        };
        if at != Some(next) {
            self.set(self.focus, ids.get(next).cloned());
        }
    }

    pub(super) fn scroll(&mut self, rows: usize, is_down: bool) {
        self.scroll = if is_down { self.scroll.saturating_add(rows) } else { self.scroll.saturating_sub(rows) };
    }

    /// The window is not below the card's end.
    pub(in super::super) fn scroll_at_most(&mut self, rows: usize) {
        self.scroll = self.scroll.min(rows);
    }
}
