//! How long things are waited for, and when something is tried again.

use crate::{Error, Result};
use std::time::Duration;

/// How often one thing is said before it is given up.
const ATTEMPTS: u32 = 5;

/// What happens if something is said twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Twice {
    /// The provider knows that it is the same.
    IsOnce,
    /// People see it twice. Better that than never, and worse than that is more often.
    IsTwice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    pub connect: Duration,
    /// For one answer, all of it.
    pub answer: Duration,
    /// How long a provider may keep a question for news.
    pub poll: Duration,
    /// Before the second attempt; it doubles with every further one.
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// A provider that asks for more is not waited for by who sends.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            poll: Duration::from_secs(50),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(60),
            patience: Duration::from_secs(60),
        }
    }
}

/// Growing pauses.
pub(crate) struct Pauses {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl Pauses {
    pub(crate) fn of(timing: &Timing) -> Self {
        Self { first: timing.first_pause, next: timing.first_pause, longest: timing.longest_pause }
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// The pause after this error: what the provider asked for, or twice the one before.
    pub(crate) fn after(&mut self, error: &Error) -> Duration {
        error.retry_after().unwrap_or_else(|| self.next())
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next.min(self.longest);
        self.next = pause.saturating_mul(2);
        pause
    }
}

/// Says something until it is heard, refused, or was tried often enough.
pub(crate) async fn persist<T, F>(timing: &Timing, twice: Twice, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut pauses = Pauses::of(timing);
    let mut has_been_unsure = false;
    for _ in 1..ATTEMPTS {
        let error = match attempt().await {
            Err(error) if error.is_transient() => error,
            other => return other,
        };
        let pause = pauses.after(&error);
        let is_enough = has_been_unsure && error.is_unsure() && twice == Twice::IsTwice;
        if is_enough || pause > timing.patience {
            return Err(error);
        }
        has_been_unsure |= error.is_unsure();
        tokio::time::sleep(pause).await;
    }
    attempt().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_a_provider_may_ask_for_another() {
        let second = Duration::from_secs(1);
        let timing = Timing { first_pause: second, longest_pause: 5 * second, ..Timing::default() };
        let mut pauses = Pauses::of(&timing);
        let seen: Vec<u64> = (0..5).map(|_| pauses.next().as_secs()).collect();
        assert_eq!(seen, [1, 2, 4, 5, 5]);
        assert_eq!(pauses.after(&Error::RateLimited { retry_after: 9 * second }), 9 * second);
        pauses.reset();
        assert_eq!(pauses.after(&Error::Failing { status: 502 }), second);
    }
}
