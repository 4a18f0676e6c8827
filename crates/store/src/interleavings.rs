//! Stories of the queue, the readers, the outbox and the writer in thousands of orders of their steps.
//!
//! Shuttle runs the threads of a story one at a time and chooses at every lock, wake-up and atomic who goes on: at
//! random, and by priorities that change at few places (PCT), which finds what needs just those. The seeds are
//! fixed, so a failure comes again; it prints its schedule. Two things are beyond it: orders inside SQLite, whose
//! calls are single steps here, and processors that reorder memory, because its atomics are always in order.
// Whatever goes wrong here is a failed test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod outbox;
mod queue;
mod readers;
mod scene;
mod writer;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const SEEDS: [u64; 4] = [1, 7, 42, 2026];
/// How many changes of priority PCT makes in one run.
const CHANGES: usize = 4;
/// SQLite wants more than a small stack.
const STACK_BYTES: usize = 512 * 1024;

/// The story gets a folder, in memory where there is such a place: these tests are about order, not about disks. It is
/// removed even if the story fails, when shuttle leaves the threads as they are.
fn run(scheduler: impl Scheduler + 'static, story: impl Fn(&Path) + Send + Sync + 'static) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().to_owned();
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(scheduler, config).run(move || story(&path));
}

/// Tells the story in `orders` orders for each seed and scheduler; whatever goes wrong in one of them panics.
fn holds(orders: usize, story: impl Fn(&Path) + Copy + Send + Sync + 'static) {
    for seed in SEEDS {
        run(RandomScheduler::new_from_seed(seed, orders), story);
        run(PctScheduler::new_from_seed(seed, CHANGES, orders), story);
    }
}

/// How the story goes wrong in one of as many orders as `holds` tells. It is about a broken twin: it must.
fn fault(orders: usize, story: impl Fn(&Path) + Copy + Send + Sync + 'static) -> String {
    match catch_unwind(AssertUnwindSafe(|| holds(orders, story))) {
        Ok(()) => "none".to_owned(),
        Err(panic) => match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(other) => other.downcast::<&str>().map_or_else(|_| "unknown".to_owned(), |text| (*text).to_owned()),
        },
    }
}
