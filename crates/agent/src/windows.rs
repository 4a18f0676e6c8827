//! What goes into one call of a model: everything of this turn, and as much of the newest history as there is room for.

use crate::cuts::RESULT_LARGEST_BYTES;
use crate::histories::{self, Told};
use crate::turns::{Past, PastStep, Said};
use domain::{Code, Refusal};
use llm::Message;

/// A part of the window that stays empty, because sizes are estimates.
const MARGIN_SHARE: u64 = 32;
/// What older results of a turn that has grown too large are cut to.
const RESULT_SMALLEST_BYTES: usize = 512;
const LEFT_OUT: &str = "[earlier messages are left out here]";

/// How the window of a model is divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    /// What the model may say.
    pub(crate) answer_tokens: u64,
    /// What the conversation may take.
    pub(crate) room: u64,
}

impl Window {
    /// `fixed_tokens` is what is told in any case: the prompt and the tools. Of what is left the answer gets half at most,
    /// because a model that can say much and be told nothing is of no use.
    pub(crate) fn divide(window_tokens: u64, max_tokens: u64, fixed_tokens: u64) -> Self {
        let margin = window_tokens / MARGIN_SHARE;
        let left = window_tokens.saturating_sub(fixed_tokens).saturating_sub(margin);
        let answer_tokens = max_tokens.min(left / 2).max(1);
        Self { answer_tokens, room: left.saturating_sub(answer_tokens) }
    }
}

/// What this turn itself has to tell: the message and what came after it. It goes before all history.
pub(crate) fn own(message: &Past, steps: &[PastStep], room: u64) -> Result<Vec<Told>, Refusal> {
    let message = Told::said(&message.said, RESULT_LARGEST_BYTES);
    let note = Told::note(LEFT_OUT).tokens;
    if message.tokens + note > room {
        let text = "the message does not fit into what the model can be told at once: shorten it, or give the agent fewer \
                    tools, shorter instructions or a model with a larger window";
        return Err(too_large(text, message.tokens + note, room));
    }
    let mut needed = 0;
    for (older, newest) in result_limits() {
        let last = steps.len().saturating_sub(1);
        let limit = |index: usize| if index == last { newest } else { older };
        let steps = steps.iter().enumerate().map(|(index, step)| Told::step(step, limit(index)));
        let own: Vec<Told> = std::iter::once(message.clone()).chain(steps).collect();
        needed = own.iter().map(|told| told.tokens).sum::<u64>() + note;
        if needed <= room {
            return Ok(own);
        }
    }
    Err(too_large("this turn has grown larger than what the model can be told at once", needed, room))
}

fn too_large(text: &str, needed: u64, room: u64) -> Refusal {
    Refusal::new(Code::ValueTooLarge, text).with("needed_tokens", needed).with("room_tokens", room)
}

/// How large results may be, of older steps and of the newest: the model has read the older ones already.
fn result_limits() -> impl Iterator<Item = (usize, usize)> {
    let smaller = std::iter::successors(Some(RESULT_LARGEST_BYTES), |bytes| Some(bytes / 2));
    let smaller = smaller.take_while(|bytes| *bytes >= RESULT_SMALLEST_BYTES);
    std::iter::once((RESULT_LARGEST_BYTES, RESULT_LARGEST_BYTES))
        .chain(smaller.map(|newest| (RESULT_SMALLEST_BYTES, newest)))
}

/// The conversation that a model is told: the oldest is left out first, and a summary at the beginning last.
pub(crate) fn conversation(history: &[Past], own: Vec<Told>, room: u64) -> Vec<Message> {
    let taken: u64 = own.iter().map(|told| told.tokens).sum();
    let note = Told::note(LEFT_OUT);
    let left = room.saturating_sub(taken + note.tokens);
    let (summary, rest) = split_summary(history);
    let summary = summary.filter(|summary| summary.tokens <= left);
    let (whole, newest) = newest_within(rest, left - summary.as_ref().map_or(0, |summary| summary.tokens));
    let lost_summary = summary.is_none() && rest.len() < history.len();
    let mut messages = summary.map(|summary| summary.messages).unwrap_or_default();
    if !whole || lost_summary {
        messages.extend(note.messages.clone());
    }
    messages.extend(newest.into_iter().chain(own).flat_map(|told| told.messages));
    // Some providers want that the model is spoken to first.
    if !matches!(messages.first(), Some(Message::User { .. })) {
        messages.splice(0..0, note.messages);
    }
    histories::tell_ids_apart(&mut messages);
    messages
}

fn split_summary(history: &[Past]) -> (Option<Told>, &[Past]) {
    match history {
        [Past { said: summary @ Said::Summary { .. }, .. }, rest @ ..] => {
            (Some(Told::said(summary, RESULT_LARGEST_BYTES)), rest)
        }
        all => (None, all),
    }
}

/// The newest that fit, oldest first, and whether that is everything.
pub(crate) fn newest_within(history: &[Past], room: u64) -> (bool, Vec<Told>) {
    let mut left = room;
    let mut found = Vec::new();
    for past in history.iter().rev() {
        let told = Told::said(&past.said, RESULT_LARGEST_BYTES);
        let Some(rest) = left.checked_sub(told.tokens) else { break };
        left = rest;
        found.push(told);
    }
    found.reverse();
    (found.len() == history.len(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_takes_half_of_what_the_tools_leave_at_most() {
        let divided = |window, max, fixed| {
            let Window { answer_tokens, room } = Window::divide(window, max, fixed);
            (answer_tokens, room)
        };
        assert_eq!(divided(3200, 1000, 100), (1000, 2000));
        assert_eq!(divided(3200, 3200, 100), (1500, 1500));
        assert_eq!(divided(3200, u64::MAX, 100), (1500, 1500));
        assert_eq!(divided(3200, 1000, 2100), (500, 500));
        assert_eq!(divided(3200, 1000, 5000), (1, 0));
        assert_eq!(divided(0, 1000, 0), (1, 0));
    }

    #[test]
    fn results_of_older_steps_are_cut_first_and_the_newest_only_as_far_as_it_must() {
        let limits: Vec<_> = result_limits().collect();
        assert_eq!(limits[..3], [(65_536, 65_536), (512, 65_536), (512, 32_768)]);
        assert_eq!(limits.last(), Some(&(512, 512)));
    }
}
