//! What turns have done, for the metrics page.

use domain::prices::Usage;
use domain::rules::ProviderKind;
use domain::tasks::TaskStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
    pub tool_refusals: AtomicU64,
    /// How long turns took, however they ended. One that waited for somebody is several.
    pub turns: Took,
    asked: [Took; Asked::ALL.len()],
}

/// Who answers model calls: few, because each is a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Openai,
    Anthropic,
    Demo,
}

impl Asked {
    pub const ALL: [Self; 3] = [Self::Openai, Self::Anthropic, Self::Demo];

    pub(super) fn of(kind: Option<ProviderKind>) -> Self {
        match kind {
            Some(ProviderKind::Openai) => Self::Openai,
            Some(ProviderKind::Anthropic) => Self::Anthropic,
            None => Self::Demo,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Demo => "demo",
        }
    }
}

/// How often something took how long.
#[derive(Default)]
pub struct Took {
    /// By the first of the bounds that it did not exceed; the last is for what exceeded all.
    counts: [AtomicU64; Took::BOUNDS_S.len() + 1],
    total_micros: AtomicU64,
}

impl Took {
    pub const BOUNDS_S: [f64; 15] =
        [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0];

    pub(super) fn took(&self, time: Duration) {
        let place = Self::BOUNDS_S.partition_point(|bound| *bound < time.as_secs_f64());
        add(&self.counts[place], 1);
        add(&self.total_micros, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// How many for each bound, and for what lies beyond the last.
    pub fn counts(&self) -> [u64; Self::BOUNDS_S.len() + 1] {
        std::array::from_fn(|place| self.counts[place].load(Ordering::Relaxed))
    }

    pub fn total_s(&self) -> f64 {
        Duration::from_micros(self.total_micros.load(Ordering::Relaxed)).as_secs_f64()
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

impl Figures {
    /// How long model calls took that these answered, or failed to.
    pub fn asked(&self, asked: Asked) -> &Took {
        &self.asked[asked as usize]
    }

    pub(super) fn ended(&self, status: TaskStatus) {
        match status {
            TaskStatus::Completed => add(&self.completed, 1),
            TaskStatus::Failed => add(&self.failed, 1),
            TaskStatus::Cancelled => add(&self.cancelled, 1),
            TaskStatus::Queued | TaskStatus::Running | TaskStatus::Waiting => {}
        }
    }

    pub(super) fn model_called(&self, asked: Asked, well: bool, time: Duration) {
        add(&self.model_calls, 1);
        add(&self.model_failures, u64::from(!well));
        self.asked(asked).took(time);
    }

    pub(super) fn used(&self, usage: Usage) {
        add(&self.input_tokens, usage.input_tokens);
        add(&self.output_tokens, usage.output_tokens);
    }

    pub(super) fn tool_called(&self) {
        add(&self.tool_calls, 1);
    }

    pub(super) fn tool_refused(&self) {
        add(&self.tool_refusals, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_for_the_first_bound_that_it_does_not_exceed() {
        let took = Took::default();
        for ms in [0, 10, 11, 1_000, 1_800_000, 1_800_001] {
            took.took(Duration::from_millis(ms));
        }
        let counts = took.counts();
        let places: Vec<usize> = (0..counts.len()).filter(|place| counts[*place] > 0).collect();
        assert_eq!(places, [0, 1, 6, 14, 15]);
        assert_eq!((counts[0], counts[15], counts.iter().sum::<u64>()), (2, 1, 6));
        assert!((took.total_s() - 3601.022).abs() < 1e-6, "{}", took.total_s());
    }

    #[test]
    fn each_who_answers_has_figures_of_its_own() {
        let figures = Figures::default();
        for asked in Asked::ALL {
            figures.model_called(asked, asked != Asked::Demo, Duration::ZERO);
        }
        assert!(Asked::ALL.iter().all(|asked| figures.asked(*asked).counts()[0] == 1));
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!((load(&figures.model_calls), load(&figures.model_failures)), (3, 1));
    }
}
