//! Calls of plugins that this process has under way.

use domain::ids::ToolCallId;
use domain::tool_calls::CallStatus;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct UnderWay {
    calls: Mutex<HashSet<ToolCallId>>,
    /// Rung when there may be calls to begin.
    pub(crate) bell: Notify,
    ended: Notify,
    ends: [AtomicU64; ENDS.len()],
}

/// How a call that was made can end.
const ENDS: [CallStatus; 3] = [CallStatus::Completed, CallStatus::Failed, CallStatus::Unknown];

/// A call that is under way as long as this lives.
pub(crate) struct Turn<'a> {
    of: &'a UnderWay,
    id: ToolCallId,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.of.lock().remove(&self.id);
        self.of.ended.notify_waiters();
    }
}

impl UnderWay {
    fn lock(&self) -> MutexGuard<'_, HashSet<ToolCallId>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None if it is under way already.
    pub(crate) fn begin(&self, id: &ToolCallId) -> Option<Turn<'_>> {
        self.lock().insert(id.clone()).then(|| Turn { of: self, id: id.clone() })
    }

    /// Counts a call whose end is on record.
    pub(crate) fn has_ended(&self, status: CallStatus) {
        if let Some(place) = ENDS.iter().position(|end| *end == status) {
            self.ends[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn ends(&self) -> [(&'static str, u64); ENDS.len()] {
        std::array::from_fn(|place| (ENDS[place].as_str(), self.ends[place].load(Ordering::Relaxed)))
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Waits until none is.
    pub(crate) async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Before it is counted: one that ends in between is heard.
            ended.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            ended.await;
        }
    }
}
