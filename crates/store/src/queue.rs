//! The queue in front of the writer: bounded, and fair between workspaces.
//!
//! Each workspace has its own line; the writer takes one job from each in turn, so a workspace that floods the
//! house waits behind itself and nobody else.

use crate::sync::{Condvar, Mutex, MutexGuard};
use domain::ids::WorkspaceId;
use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;

pub(crate) struct FairQueue<J> {
    lines: Mutex<Lines<J>>,
    arrived: Condvar,
    capacity: usize,
}

struct Lines<J> {
    waiting: HashMap<WorkspaceId, VecDeque<J>>,
    turns: VecDeque<WorkspaceId>,
    length: usize,
    closed: bool,
}

/// Why a job was not taken; it comes back to its owner.
pub(crate) enum Refused<J> {
    Full(J),
    Closed(J),
}

/// Half of the places at most for one workspace: a flood must not take those of others.
pub(crate) fn is_full(length: usize, line: usize, capacity: usize) -> bool {
    length >= capacity || line >= capacity.div_ceil(2)
}

impl<J> FairQueue<J> {
    pub(crate) fn new(capacity: usize) -> Self {
        let lines = Lines { waiting: HashMap::new(), turns: VecDeque::new(), length: 0, closed: false };
        Self { lines: Mutex::new(lines), arrived: Condvar::new(), capacity }
    }

    // A panic while the lock is held cannot leave the lines half changed in a way that matters more than stopping.
    fn lock(&self) -> MutexGuard<'_, Lines<J>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, workspace: &WorkspaceId, job: J) -> Result<(), Refused<J>> {
        let mut lines = self.lock();
        if lines.closed {
            return Err(Refused::Closed(job));
        }
        let line = lines.waiting.get(workspace).map_or(0, VecDeque::len);
        if is_full(lines.length, line, self.capacity) {
            return Err(Refused::Full(job));
        }
        lines.push(workspace, job);
        let was_empty = lines.length == 1;
        drop(lines);
        if was_empty {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Waits for the next job; `None` once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<J> {
        let mut lines = self.lock();
        loop {
            if let Some(job) = lines.pop() {
                return Some(job);
            }
            if lines.closed {
                return None;
            }
            lines = self.arrived.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next job if one is waiting now.
    pub(crate) fn try_next(&self) -> Option<J> {
        self.lock().pop()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().length
    }

    pub(crate) fn is_open_and_empty(&self) -> bool {
        let lines = self.lock();
        !lines.closed && lines.length == 0
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Takes no more jobs; those that wait are still handed out.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }
}

impl<J> Lines<J> {
    fn push(&mut self, workspace: &WorkspaceId, job: J) {
        self.length += 1;
        match self.waiting.get_mut(workspace) {
            Some(line) => line.push_back(job),
            None => {
                self.turns.push_back(workspace.clone());
                self.waiting.insert(workspace.clone(), VecDeque::from([job]));
            }
        }
    }

    fn pop(&mut self) -> Option<J> {
        let workspace = self.turns.pop_front()?;
        let line = self.waiting.get_mut(&workspace)?;
        let job = line.pop_front()?;
        self.length -= 1;
        if line.is_empty() {
            self.waiting.remove(&workspace);
        } else {
            self.turns.push_back(workspace);
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(name: &str) -> WorkspaceId {
        WorkspaceId::parse(name).unwrap()
    }

    #[test]
    fn a_flood_from_one_workspace_waits_behind_itself() {
        let queue = FairQueue::new(100);
        for n in 0..50 {
            assert!(queue.push(&workspace("loud"), ("loud", n)).is_ok());
        }
        assert!(queue.push(&workspace("quiet"), ("quiet", 0)).is_ok());
        let order: Vec<_> = (0..3).filter_map(|_| queue.next()).collect();
        assert_eq!(order, [("loud", 0), ("quiet", 0), ("loud", 1)]);
    }

    #[test]
    fn a_full_queue_refuses_and_a_closed_one_hands_out_what_it_has() {
        let queue = FairQueue::new(1);
        assert!(queue.push(&workspace("a"), 1).is_ok());
        assert!(matches!(queue.push(&workspace("a"), 2), Err(Refused::Full(2))));
        queue.close();
        assert!(matches!(queue.push(&workspace("a"), 3), Err(Refused::Closed(3))));
        assert_eq!((queue.next(), queue.next()), (Some(1), None));
    }
}
