//! How plugins are run: where, with what around them, how much of them is taken, and how patient the house is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Options {
    /// Where programs are started, and what a relative path of a program counts from. Never the data directory.
    pub directory: PathBuf,
    /// The house's own environment, of which a plugin is given what `domain::plugins::is_passed` lets through.
    pub environment: Vec<(OsString, OsString)>,
    pub limits: Limits,
    pub rhythm: Rhythm,
}

impl Options {
    /// With the environment of this process.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            environment: std::env::vars_os().collect(),
            limits: Limits::default(),
            rhythm: Rhythm::default(),
        }
    }
}

/// How much of one plugin is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One message, before it is parsed. A larger one ends the connection.
    pub message_bytes: usize,
    /// Messages that nobody asked for: as many at once, and a tenth of it in every second. More end the connection.
    pub unasked_messages: u32,
    pub tools: usize,
    /// Of all names, descriptions and schemas together.
    pub listing_bytes: usize,
    /// Of what a call answers; the rest is cut off, and that is told.
    pub result_bytes: usize,
    pub arguments_bytes: usize,
    pub calls_at_once: usize,
    /// Calls that wait for a turn; the next is refused.
    pub calls_waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 * 1024 * 1024,
            unasked_messages: 2_000,
            tools: 256,
            listing_bytes: 1024 * 1024,
            result_bytes: 256 * 1024,
            arguments_bytes: 1024 * 1024,
            calls_at_once: 8,
            calls_waiting: 64,
        }
    }
}

/// When things are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// Before the first restart; each further one waits twice as long, up to the longest.
    pub first_delay: Duration,
    pub longest_delay: Duration,
    /// A plugin that was ready for so long begins anew with the first delay.
    pub steady_after: Duration,
    /// So many failures in a row are called a failure. It is still tried, at the longest delay.
    pub failed_after: u32,
    /// What a program has to end by itself: once after its input is closed, once more after it was asked to.
    pub grace: Duration,
    /// Between two looks at what a plugin offers, however often it says that this changed.
    pub listing_rest: Duration,
    /// When an address is asked again for its tools, though it said nothing: so it is noticed that it is gone.
    pub look_again: Duration,
    /// How long a program may leave its input unread.
    pub write_within: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            first_delay: Duration::from_millis(500),
            longest_delay: Duration::from_secs(60),
            steady_after: Duration::from_secs(60),
            failed_after: 8,
            grace: Duration::from_secs(1),
            listing_rest: Duration::from_secs(1),
            look_again: Duration::from_secs(60),
            write_within: Duration::from_secs(10),
        }
    }
}
