//! How often somebody may knock: per credential once known, per address while unknown.

use domain::{Code, Refusal, Result};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Requests per credential.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateLimit {
    Off,
    PerSecond { rate: NonZeroU32, burst: NonZeroU32 },
}

const fn count(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

impl Default for RateLimit {
    fn default() -> Self {
        Self::PerSecond { rate: count(2_000), burst: count(4_000) }
    }
}

const FAILED_SIGN_INS_PER_MINUTE: u32 = 20;
const INVALID_BEARERS_PER_MINUTE: NonZeroU32 = count(1_000);
/// Keys are cleared of those who have been quiet once there are this many.
const KEYS_MOST: usize = 10_000;

pub(crate) struct Limits {
    callers: Option<Limiter<String>>,
    sign_ins: Failures,
    bearers: Limiter<IpAddr>,
}

impl Limits {
    pub(crate) fn new(rate_limit: RateLimit) -> Self {
        let callers = match rate_limit {
            RateLimit::Off => None,
            RateLimit::PerSecond { rate, burst } => Some(Limiter::new(Quota::per_second(rate).allow_burst(burst))),
        };
        Self {
            callers,
            sign_ins: Failures::default(),
            bearers: Limiter::new(Quota::per_minute(INVALID_BEARERS_PER_MINUTE)),
        }
    }

    /// One request of a known caller.
    pub(crate) fn caller(&self, token: &str) -> Result<()> {
        self.callers.as_ref().map_or(Ok(()), |limiter| limiter.check(&token.to_owned()))
    }

    /// Before a sign-in: after too many failures even a right code has to wait.
    pub(crate) fn may_sign_in(&self, address: IpAddr) -> Result<()> {
        self.sign_ins.check(address)
    }

    pub(crate) fn failed_sign_in(&self, address: IpAddr) {
        self.sign_ins.count(address);
    }

    pub(crate) fn invalid_bearer(&self, address: IpAddr) -> Result<()> {
        self.bearers.check(&address)
    }
}

/// Failures per address in the minute that began with the first of them.
#[derive(Default)]
struct Failures(Mutex<HashMap<IpAddr, (Instant, u32)>>);

const MINUTE: Duration = Duration::from_secs(60);

impl Failures {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, (Instant, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, address: IpAddr) -> Result<()> {
        match self.lock().get(&address) {
            Some((since, failures)) if *failures >= FAILED_SIGN_INS_PER_MINUTE && since.elapsed() < MINUTE => {
                Err(too_many(MINUTE.saturating_sub(since.elapsed())))
            }
            _ => Ok(()),
        }
    }

    fn count(&self, address: IpAddr) {
        let mut failures = self.lock();
        if failures.len() >= KEYS_MOST {
            failures.retain(|_, (since, _)| since.elapsed() < MINUTE);
        }
        let entry = failures.entry(address).or_insert_with(|| (Instant::now(), 0));
        if entry.0.elapsed() >= MINUTE {
            *entry = (Instant::now(), 0);
        }
        entry.1 += 1;
    }
}

fn too_many(wait: Duration) -> Refusal {
    Refusal::new(Code::RateLimited, "too many requests: wait a moment and try again")
        .with("retry_after_ms", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

/// A limiter that forgets who has been quiet.
struct Limiter<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    checks: AtomicU64,
}

impl<K: Hash + Eq + Clone> Limiter<K> {
    fn new(quota: Quota) -> Self {
        Self { limiter: RateLimiter::keyed(quota), checks: AtomicU64::new(0) }
    }

    fn check(&self, key: &K) -> Result<()> {
        let outcome = self.limiter.check_key(key);
        // Counting the keys looks at all of them: now and then is enough.
        if self.checks.fetch_add(1, Ordering::Relaxed).is_multiple_of(1024) && self.limiter.len() > KEYS_MOST {
            self.limiter.retain_recent();
        }
        outcome.map_err(|until| too_many(until.wait_time_from(DefaultClock::default().now())))
    }
}
