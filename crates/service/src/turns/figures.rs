//! What turns have done, for the metrics page.

use domain::prices::Usage;
use domain::tasks::TaskStatus;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Figures {
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub cancelled: AtomicU64,
    pub model_calls: AtomicU64,
    pub model_failures: AtomicU64,
    pub input_tokens: AtomicU64,
    pub output_tokens: AtomicU64,
    pub tool_calls: AtomicU64,
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

impl Figures {
    pub(super) fn ended(&self, status: TaskStatus) {
        match status {
            TaskStatus::Completed => add(&self.completed, 1),
            TaskStatus::Failed => add(&self.failed, 1),
            TaskStatus::Cancelled => add(&self.cancelled, 1),
            TaskStatus::Queued | TaskStatus::Running | TaskStatus::Waiting => {}
        }
    }

    pub(super) fn model_called(&self, well: bool) {
        add(&self.model_calls, 1);
        add(&self.model_failures, u64::from(!well));
    }

    pub(super) fn used(&self, usage: Usage) {
        add(&self.input_tokens, usage.input_tokens);
        add(&self.output_tokens, usage.output_tokens);
    }

    pub(super) fn tool_called(&self) {
        add(&self.tool_calls, 1);
    }
}
