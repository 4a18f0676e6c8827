//! How often somebody may knock: per credential once known, per address while unknown.

use domain::{Code, Refusal, Result};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::net::IpAddr;
use std::num::NonZeroU32;

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

const FAILED_SIGN_INS_PER_MINUTE: NonZeroU32 = count(20);
const INVALID_BEARERS_PER_MINUTE: NonZeroU32 = count(1_000);
/// Keys are cleared of those who have been quiet once there are this many.
const KEYS_MOST: usize = 10_000;

pub(crate) struct Limits {
    callers: Option<DefaultKeyedRateLimiter<String>>,
    sign_ins: DefaultKeyedRateLimiter<IpAddr>,
    bearers: DefaultKeyedRateLimiter<IpAddr>,
}

impl Limits {
    pub(crate) fn new(rate_limit: RateLimit) -> Self {
        let callers = match rate_limit {
            RateLimit::Off => None,
            RateLimit::PerSecond { rate, burst } => {
                Some(RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst)))
            }
        };
        Self {
            callers,
            sign_ins: RateLimiter::keyed(Quota::per_minute(FAILED_SIGN_INS_PER_MINUTE)),
            bearers: RateLimiter::keyed(Quota::per_minute(INVALID_BEARERS_PER_MINUTE)),
        }
    }

    /// One request of a known caller.
    pub(crate) fn caller(&self, token: &str) -> Result<()> {
        self.callers.as_ref().map_or(Ok(()), |limiter| check(limiter, &token.to_owned()))
    }

    /// One failed sign-in. After too many, even a right code has to wait.
    pub(crate) fn failed_sign_in(&self, address: IpAddr) -> Result<()> {
        check(&self.sign_ins, &address)
    }

    pub(crate) fn invalid_bearer(&self, address: IpAddr) -> Result<()> {
        check(&self.bearers, &address)
    }
}

fn check<K: std::hash::Hash + Eq + Clone>(limiter: &DefaultKeyedRateLimiter<K>, key: &K) -> Result<()> {
    let Err(until) = limiter.check_key(key) else { return Ok(()) };
    if limiter.len() > KEYS_MOST {
        limiter.retain_recent();
    }
    let wait_ms = until.wait_time_from(DefaultClock::default().now()).as_millis();
    Err(Refusal::new(Code::RateLimited, "too many requests: wait a moment and try again")
        .with("retry_after_ms", u64::try_from(wait_ms).unwrap_or(u64::MAX)))
}
