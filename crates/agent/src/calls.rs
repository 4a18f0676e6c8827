//! Making the calls of a step, one after another.
//!
//! A call that outlives its turn is made of a step that is on record, so that whoever finds the turn cut off knows what to wait
//! for. If the first open call of such a step outlives the turn, then no other was made whose result is not kept: the turn
//! may begin again.

use crate::cuts::{RESULT_LARGEST_BYTES, bounded};
use crate::host::{Called, KeptCall, Stopped, ToolHost};
use crate::proposals::{not_made, proposed};
use crate::retries::Heard;

/// How far it came.
#[derive(Debug, PartialEq)]
pub(crate) enum Made {
    All,
    /// One waits. Those after it were not begun.
    Waits,
    /// The house ended it. Every call has a result that says what became of it.
    Stopped(Stopped),
}

/// The step that a turn is at.
pub(crate) struct AtWork {
    pub(crate) calls: Vec<KeptCall>,
    /// What it comes from, until it is kept.
    pub(crate) heard: Option<Heard>,
    /// The calls as they were kept last.
    kept: Vec<KeptCall>,
}

impl AtWork {
    pub(crate) fn new(heard: Heard, calls: Vec<KeptCall>) -> Self {
        Self { heard: Some(heard), kept: Vec::new(), calls }
    }

    /// One that a turn left open when it was parked or cut off.
    pub(crate) fn left(calls: Vec<KeptCall>) -> Self {
        Self { heard: None, kept: calls.clone(), calls }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.heard.is_none() && self.calls == self.kept
    }

    pub(crate) fn note_kept(&mut self) {
        self.kept.clone_from(&self.calls);
    }

    /// The next that has no result yet, from there on.
    pub(crate) fn next_open(&self, from: usize) -> Option<usize> {
        (from..self.calls.len()).find(|index| is_open(&self.calls[*index]))
    }

    /// Whether this call may only be made of a step that is on record as it is now.
    pub(crate) fn has_to_be_kept_before<H: ToolHost>(&self, index: usize, host: &H) -> bool {
        let outlives = |call: &KeptCall| host.outlives_turn(&call.tool);
        let mut fresh = self.calls.iter().zip(&self.kept).filter(|(now, kept)| now != kept).map(|(now, _)| now);
        if outlives(&self.calls[index]) {
            self.heard.is_some() || fresh.any(|call| !outlives(call))
        } else {
            self.heard.is_none() && fresh.any(outlives)
        }
    }

    /// Makes one; answers how it stands if that is the last for now.
    pub(crate) async fn make<H: ToolHost>(&mut self, index: usize, host: &H) -> Option<Made> {
        let proposed = match proposed(&self.calls[index]) {
            Ok(proposed) => proposed,
            Err(why) => {
                self.calls[index].result = Some(not_made(why));
                return None;
            }
        };
        match host.call(&proposed).await {
            Ok(Called::Answered { content, is_error }) => {
                self.calls[index].result = Some((bounded(content, RESULT_LARGEST_BYTES), is_error));
                None
            }
            Ok(Called::Waits) => Some(Made::Waits),
            Err(stopped) => {
                close(&mut self.calls[index..], &stopped);
                Some(Made::Stopped(stopped))
            }
        }
    }
}

pub(crate) fn is_open(call: &KeptCall) -> bool {
    call.result.is_none()
}

/// What earlier calls did has happened: it stays readable, with a word on those that did not come to an end.
fn close(calls: &mut [KeptCall], stopped: &Stopped) {
    let mut why = format!("the turn was stopped during this call: {}", stopped.message);
    for call in calls.iter_mut().filter(|call| is_open(call)) {
        let after = "not called: the turn had been stopped".to_owned();
        call.result = Some((std::mem::replace(&mut why, after), true));
    }
}
