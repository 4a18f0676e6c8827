//! A clock that moves only when the test says so.

use domain::times::Timestamp;
use service::surroundings::{Machine, Surroundings};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

pub struct TurnedClock {
    now_ms: AtomicI64,
    is_tripped: AtomicBool,
    machine: Machine,
}

impl Default for TurnedClock {
    fn default() -> Self {
        let machine = Machine::default();
        // From the real time, because the framework's own timers run on it.
        Self { now_ms: AtomicI64::new(machine.now().as_ms()), is_tripped: AtomicBool::new(false), machine }
    }
}

impl TurnedClock {
    pub fn advance_s(&self, seconds: i64) {
        self.now_ms.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    pub fn turn_to(&self, at: Timestamp) {
        self.now_ms.store(at.as_ms(), Ordering::Relaxed);
    }

    /// Whoever looks at the clock next panics, for stories about faults of the house itself.
    pub fn trip(&self) {
        self.is_tripped.store(true, Ordering::Relaxed);
    }
}

impl Surroundings for TurnedClock {
    fn now(&self) -> Timestamp {
        assert!(!self.is_tripped.swap(false, Ordering::Relaxed), "the clock was tripped by the test");
        Timestamp::from_ms(self.now_ms.load(Ordering::Relaxed))
    }

    fn random(&self) -> [u8; 32] {
        self.machine.random()
    }
}
