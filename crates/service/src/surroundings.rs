//! Time and chance. They come in from outside, so that tests can decide both.

use domain::times::Timestamp;
use std::sync::atomic::{AtomicI64, Ordering};

pub trait Surroundings: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
    fn random(&self) -> [u8; 32];

    /// A fresh UUIDv7.
    fn unique(&self) -> uuid::Uuid {
        let random = self.random();
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&random[..10]);
        let ms = u64::try_from(self.now().as_ms()).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(ms, &bytes).into_uuid()
    }
}

/// The machine's clock and its random numbers. Time never runs backwards while the process lives.
#[derive(Default)]
pub struct Machine {
    latest_ms: AtomicI64,
}

impl Surroundings for Machine {
    // The one place that reads the machine's clock.
    #[allow(clippy::disallowed_methods)]
    fn now(&self) -> Timestamp {
        let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let ms = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_ms(self.latest_ms.fetch_max(ms, Ordering::Relaxed).max(ms))
    }

    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        // Without random numbers no secret is safe: stopping is the only right answer.
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::error!(%error, "the machine gives no random numbers");
            std::process::abort();
        }
        bytes
    }
}
