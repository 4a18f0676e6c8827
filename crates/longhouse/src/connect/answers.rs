//! Questions of the node itself (`--ask-locally`) on a terminal without the full screen. One at a time, each with an end; what
//! is typed after that is nobody's answer.

mod typed;

use super::lines::{say, shown};
use domain::times::Timestamp;
use node::Question;
use std::collections::HashMap;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use typed::{Read, Typed};

/// How long the end of a question goes unwatched.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(500);

pub(super) struct Answers<F> {
    /// Whoever has it asks.
    input: Mutex<Typed<F>>,
    /// The calls that are asked about, or wait for that, and whether that is of no use any more.
    open: Mutex<HashMap<String, bool>>,
    clock: fn() -> Timestamp,
}

impl<F: AsFd> Answers<F> {
    pub(super) fn new(input: F, clock: fn() -> Timestamp) -> Self {
        Self { input: Mutex::new(Typed::new(input)), open: Mutex::default(), clock }
    }

    /// Asks whoever sits here, on a thread that may wait. Anything but a yes in time is a no.
    pub(super) fn ask(&self, question: &Question) -> bool {
        let call = &question.call.id;
        self.open().insert(call.clone(), false);
        let yes = self.ask_in_turn(question);
        self.open().remove(call);
        yes
    }

    /// A call that was taken back, or that somebody else has ended.
    pub(super) fn move_on(&self, call: &str) {
        if let Some(is_over) = self.open().get_mut(call) {
            *is_over = true;
        }
    }

    fn ask_in_turn(&self, question: &Question) -> bool {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_over(question) {
            return false;
        }
        say(&shown(question));
        // What could not be shown whole is a no, and nobody is asked for it.
        if question.found.diff_cut {
            return false;
        }
        input.forget();
        let _ = write!(std::io::stderr(), "longhouse: shall it be done here? [y/N] ");
        while !self.is_over(question) {
            match input.line(LOOKED_AT_EVERY) {
                Read::Line(answer) => return is_yes(&answer),
                Read::End => return false,
                Read::NotYet => {}
            }
        }
        input.give_up();
        let _ = writeln!(std::io::stderr());
        say(&format!("{} is not asked about any more", question.call.id));
        false
    }

    /// By the clock on the wall, which goes on while the machine sleeps.
    fn is_over(&self, question: &Question) -> bool {
        let is_in_time = question.ends_at().is_some_and(|end| (self.clock)() < end);
        !is_in_time || self.open().get(&question.call.id).copied().unwrap_or(true)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim(), "y" | "Y" | "yes")
}

#[cfg(test)]
mod tests;
