//! Locks, threads and the passing of time, in one place, so that a test can put a scheduler of its own under them.
//!
//! With the feature `interleavings`, which only tests turn on, they are shuttle's: every touch of one is a moment at
//! which another thread may run instead.

#[cfg(not(feature = "interleavings"))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
    time::Instant,
};

#[cfg(feature = "interleavings")]
pub(crate) use {
    any_time::Instant,
    shuttle::sync::{Condvar, Mutex, MutexGuard, atomic},
    shuttle::thread,
};

/// How many events a watcher may lag behind before it has to read the log. Few where tests want it to happen.
pub(crate) const BACKLOG: usize = if cfg!(feature = "interleavings") { 2 } else { 64 };

#[cfg(feature = "interleavings")]
mod any_time {
    use shuttle::rand::{Rng, thread_rng};
    use std::time::Duration;

    /// No time has passed, or a long one: whatever the scheduler draws, so that a schedule can be repeated.
    #[derive(Clone, Copy)]
    pub(crate) struct Instant;

    impl Instant {
        pub(crate) fn now() -> Self {
            Self
        }

        pub(crate) fn elapsed(self) -> Duration {
            Duration::from_secs(if thread_rng().gen_bool(0.25) { 60 } else { 0 })
        }
    }
}
