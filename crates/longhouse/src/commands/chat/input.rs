//! What comes from the person: lines and signals, also while an answer is being written.

use super::words::{self, Said};
use crate::stdin::{self, Line};
use anyhow::Result;
use std::collections::VecDeque;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Lines that may wait for an answer to end; more are left where they are.
const AHEAD_MOST: usize = 64;

pub(super) struct Input {
    /// None when there is nothing to read, or no more.
    lines: Option<mpsc::Receiver<Line>>,
    /// Read while an answer was being written.
    ahead: VecDeque<Line>,
    is_conversation: bool,
    interrupt: Signal,
    terminate: Signal,
}

pub(super) enum Next {
    Line(String),
    Unreadable,
    End,
}

/// What somebody may want while an answer is being written.
pub(super) enum Wish {
    Stop,
    /// Stop, and end the chat.
    Leave,
}

impl Input {
    pub(super) fn of_stdin(is_conversation: bool) -> Result<Self> {
        Ok(Self { lines: Some(stdin::lines()), is_conversation, ..Self::nothing()? })
    }

    pub(super) fn nothing() -> Result<Self> {
        Ok(Self {
            lines: None,
            ahead: VecDeque::new(),
            is_conversation: false,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The line that comes next, if it is known already.
    pub(super) fn ahead(&self) -> Option<&str> {
        match self.ahead.front() {
            Some(Line::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Waits for the next line. A signal ends the chat.
    pub(super) async fn next(&mut self) -> Next {
        let line = match self.ahead.pop_front() {
            Some(line) => Some(line),
            None => tokio::select! {
                line = read(&mut self.lines) => line,
                _ = self.interrupt.recv() => None,
                _ = self.terminate.recv() => None,
            },
        };
        match line {
            Some(Line::Text(text)) => Next::Line(text),
            Some(Line::Unreadable) => Next::Unreadable,
            None => Next::End,
        }
    }

    /// Waits for what concerns the answer that is being written; other lines wait for their turn.
    pub(super) async fn wish(&mut self) -> Wish {
        loop {
            let reads = self.lines.is_some() && self.ahead.len() < AHEAD_MOST;
            tokio::select! {
                line = read(&mut self.lines), if reads => match line {
                    None => self.lines = None,
                    Some(Line::Unreadable) => self.ahead.push_back(Line::Unreadable),
                    Some(Line::Text(text)) => match words::parse(&text) {
                        Said::Stop => return Wish::Stop,
                        Said::Quit if self.is_conversation => return Wish::Leave,
                        Said::Nothing => {}
                        _ => self.ahead.push_back(Line::Text(text)),
                    },
                },
                _ = self.interrupt.recv() => return if self.is_conversation { Wish::Stop } else { Wish::Leave },
                _ = self.terminate.recv() => return Wish::Leave,
            }
        }
    }
}

async fn read(lines: &mut Option<mpsc::Receiver<Line>>) -> Option<Line> {
    lines.as_mut()?.recv().await
}
