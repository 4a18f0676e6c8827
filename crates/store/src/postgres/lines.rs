//! Writes on their way to PostgreSQL: one line per workspace, each served by one task at a time. Writes of one
//! workspace would only get in each other's way (they share the chain of its audit), so those that wait share a
//! transaction; other workspaces go on beside it.

use crate::queue::{Refused, is_full};
use domain::ids::WorkspaceId;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

pub(crate) struct Lines<J> {
    state: Mutex<State<J>>,
    capacity: usize,
    /// Rung when the last line has been served.
    empty: Notify,
}

struct State<J> {
    /// A line is here as long as somebody serves it.
    waiting: HashMap<WorkspaceId, VecDeque<J>>,
    length: usize,
    closed: bool,
}

impl<J> Lines<J> {
    pub(crate) fn new(capacity: usize) -> Self {
        let state = State { waiting: HashMap::new(), length: 0, closed: false };
        Self { state: Mutex::new(state), capacity, empty: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers whether the line is new: then somebody has to serve it.
    pub(crate) fn push(&self, workspace: &WorkspaceId, job: J) -> Result<bool, Refused<J>> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed(job));
        }
        let line = state.waiting.get(workspace).map_or(0, VecDeque::len);
        if is_full(state.length, line, self.capacity) {
            return Err(Refused::Full(job));
        }
        state.length += 1;
        let is_new = !state.waiting.contains_key(workspace);
        state.waiting.entry(workspace.clone()).or_default().push_back(job);
        Ok(is_new)
    }

    /// At most `most` jobs of a line; none means that the line is gone and its server may go too.
    pub(crate) fn take(&self, workspace: &WorkspaceId, most: usize) -> Vec<J> {
        let mut state = self.lock();
        let Some(line) = state.waiting.get_mut(workspace) else { return Vec::new() };
        let count = line.len().min(most);
        let taken: Vec<J> = line.drain(..count).collect();
        state.length -= taken.len();
        if taken.is_empty() {
            state.waiting.remove(workspace);
            if state.waiting.is_empty() {
                self.empty.notify_waiters();
            }
        }
        taken
    }

    /// Whoever serves a line. If they go before it is empty, what waits in it is dropped, so that nobody waits for ever.
    pub(crate) fn serving(&self, workspace: WorkspaceId) -> Serving<'_, J> {
        Serving { lines: self, workspace }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().length
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Takes no more jobs; those that wait are still served.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    /// Waits until every line has been served.
    pub(crate) async fn served(&self) {
        loop {
            let empty = self.empty.notified();
            tokio::pin!(empty);
            // Listening before looking, so that the last line cannot end unheard.
            empty.as_mut().enable();
            if self.lock().waiting.is_empty() {
                return;
            }
            empty.await;
        }
    }
}

pub(crate) struct Serving<'l, J> {
    lines: &'l Lines<J>,
    workspace: WorkspaceId,
}

impl<J> Serving<'_, J> {
    pub(crate) fn take(&self, most: usize) -> Vec<J> {
        self.lines.take(&self.workspace, most)
    }
}

impl<J> Drop for Serving<'_, J> {
    fn drop(&mut self) {
        // Only after a panic is anything left, or the line not gone already and perhaps somebody else's by now.
        if std::thread::panicking() {
            while !self.take(usize::MAX).is_empty() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(name: &str) -> WorkspaceId {
        WorkspaceId::parse(name).unwrap()
    }

    #[test]
    fn a_line_has_one_server_until_it_is_empty() {
        let lines = Lines::new(100);
        let a = workspace("a");
        assert!(lines.push(&a, 1).is_ok_and(|is_new| is_new));
        assert!(lines.push(&a, 2).is_ok_and(|is_new| !is_new));
        assert!(lines.push(&workspace("b"), 3).is_ok_and(|is_new| is_new));
        assert_eq!(lines.take(&a, 10), [1, 2]);
        assert!(lines.push(&a, 4).is_ok_and(|is_new| !is_new), "it is served still");
        assert_eq!((lines.take(&a, 10), lines.take(&a, 10)), (vec![4], vec![]));
        assert!(lines.push(&a, 5).is_ok_and(|is_new| is_new), "nobody serves it any more");
    }

    #[test]
    fn no_line_takes_more_than_half_of_the_places() {
        let lines = Lines::new(4);
        let a = workspace("a");
        assert!(lines.push(&a, 1).is_ok() && lines.push(&a, 2).is_ok());
        assert!(matches!(lines.push(&a, 3), Err(Refused::Full(3))));
        assert!(lines.push(&workspace("b"), 4).is_ok());
        lines.close();
        assert!(matches!(lines.push(&a, 5), Err(Refused::Closed(5))));
    }
}
