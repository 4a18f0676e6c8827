//! A clock that moves only when the test says so.

use domain::times::Timestamp;
use service::surroundings::{Machine, Surroundings};
use std::sync::atomic::{AtomicI64, Ordering};

pub struct TurnedClock {
    now_ms: AtomicI64,
    machine: Machine,
}

impl Default for TurnedClock {
    fn default() -> Self {
        let machine = Machine::default();
        // From the real time, because the framework's own timers run on it.
        Self { now_ms: AtomicI64::new(machine.now().as_ms()), machine }
    }
}

impl TurnedClock {
    pub fn advance_s(&self, seconds: i64) {
        self.now_ms.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    pub fn turn_to(&self, at: Timestamp) {
        self.now_ms.store(at.as_ms(), Ordering::Relaxed);
    }
}

impl Surroundings for TurnedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now_ms.load(Ordering::Relaxed))
    }

    fn random(&self) -> [u8; 32] {
        self.machine.random()
    }
}
