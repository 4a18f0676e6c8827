//! Making the calls of a step, one after another.

use crate::cuts::{RESULT_LARGEST_BYTES, bounded};
use crate::host::{Called, KeptCall, Stopped, ToolHost};
use crate::proposals::{not_made, proposed};

/// How far it came.
#[derive(Debug, PartialEq)]
pub(crate) enum Made {
    All,
    /// One waits. Those after it were not begun.
    Waits,
    /// The house ended it. Every call has a result that says what became of it.
    Stopped(Stopped),
}

pub(crate) fn is_open(call: &KeptCall) -> bool {
    call.result.is_none()
}

/// Makes those that have no result yet, in order, so that a later one may rely on what an earlier one did.
pub(crate) async fn make<H: ToolHost>(host: &H, calls: &mut [KeptCall]) -> Made {
    for index in 0..calls.len() {
        let call = &mut calls[index];
        if !is_open(call) {
            continue;
        }
        let proposed = match proposed(call) {
            Ok(proposed) => proposed,
            Err(why) => {
                call.result = Some(not_made(why));
                continue;
            }
        };
        match host.call(&proposed).await {
            Ok(Called::Answered { content, is_error }) => {
                call.result = Some((bounded(content, RESULT_LARGEST_BYTES), is_error));
            }
            Ok(Called::Waits) => return Made::Waits,
            Err(stopped) => {
                close(&mut calls[index..], &stopped);
                return Made::Stopped(stopped);
            }
        }
    }
    Made::All
}

/// What earlier calls did has happened: it stays readable, with a word on those that did not come to an end.
fn close(calls: &mut [KeptCall], stopped: &Stopped) {
    let mut why = format!("the turn was stopped during this call: {}", stopped.message);
    for call in calls.iter_mut().filter(|call| is_open(call)) {
        let after = "not called: the turn had been stopped".to_owned();
        call.result = Some((std::mem::replace(&mut why, after), true));
    }
}
