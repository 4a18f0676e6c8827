//! Lines that somebody types, read no further than needed and never waited for without end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::Duration;

/// Longer than any answer.
const LONGEST: usize = 4 * 1024;
/// What a program may have written for a question that is over.
const LATE_MOST: usize = 1024 * 1024;

pub(super) enum Read {
    /// One that was too long, or no text, is empty.
    Line(String),
    NotYet,
    End,
}

/// What is to become of the line that has begun.
#[derive(Clone, Copy, PartialEq)]
enum Begun {
    Line,
    TooLong,
    /// It was typed for a question that is over.
    Late,
}

pub(super) struct Typed<F> {
    from: F,
    rest: Vec<u8>,
    begun: Begun,
    /// Whether a question was given up: its answer may still come.
    has_given_up: bool,
}

impl<F: AsFd> Typed<F> {
    pub(super) fn new(from: F) -> Self {
        Self { from, rest: Vec::new(), begun: Begun::Line, has_given_up: false }
    }

    /// An answer that was typed before the question is an answer to something else. A program that writes its answers ahead means
    /// them in turn, until one is late.
    pub(super) fn forget(&mut self) {
        if rustix::termios::isatty(&self.from) {
            // Where that fails the terminal has gone, and nobody answers.
            let _ = rustix::termios::tcflush(&self.from, rustix::termios::QueueSelector::IFlush);
            (self.rest, self.begun) = (Vec::new(), Begun::Line);
        } else if self.has_given_up {
            self.drop_what_is_late();
        }
        self.has_given_up = false;
    }

    pub(super) fn give_up(&mut self) {
        self.has_given_up = true;
    }

    fn drop_what_is_late(&mut self) {
        let mut dropped = self.rest.len();
        let mut last = self.rest.last().copied();
        self.rest.clear();
        while dropped < LATE_MOST && matches!(self.more(Duration::ZERO), Some(1..)) {
            dropped += self.rest.len();
            last = self.rest.last().copied();
            self.rest.clear();
        }
        self.begun = match (last, self.begun) {
            (None, Begun::Line) | (Some(b'\n'), _) => Begun::Line,
            _ => Begun::Late,
        };
    }

    /// The next line, if it is whole within so long.
    pub(super) fn line(&mut self, longest: Duration) -> Read {
        if let Some(line) = self.next_whole() {
            return line;
        }
        match self.more(longest) {
            None => Read::End,
            Some(0) => Read::NotYet,
            Some(_) => self.next_whole().unwrap_or(Read::NotYet),
        }
    }

    fn next_whole(&mut self) -> Option<Read> {
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            match std::mem::replace(&mut self.begun, Begun::Line) {
                Begun::Line => return Some(Read::Line(String::from_utf8(line).unwrap_or_default())),
                Begun::TooLong => return Some(Read::Line(String::new())),
                Begun::Late => {}
            }
        }
        if self.rest.len() > LONGEST {
            self.rest.clear();
            self.begun = if self.begun == Begun::Late { Begun::Late } else { Begun::TooLong };
        }
        None
    }

    /// Takes in what there is, or comes within so long; none at the end, and where nothing can be read.
    fn more(&mut self, longest: Duration) -> Option<usize> {
        let wait = Timespec::try_from(longest).ok()?;
        match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Some(0),
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut bytes = [0; LONGEST];
        match rustix::io::read(&self.from, &mut bytes) {
            Ok(0) => None,
            Ok(count) => {
                self.rest.extend_from_slice(&bytes[..count]);
                Some(count)
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Some(0),
            Err(_) => None,
        }
    }
}
