//! A reply while it arrives, within its bounds. Both protocols write into it; what is larger is an error.

use crate::names::WireNames;
use crate::{Error, Reply, Result, Stop, ToolCall};
use domain::prices::Usage;
use std::collections::BTreeSet;

/// Bytes of text, and bytes of the arguments of all calls together.
pub(crate) const TEXT_MOST: usize = 1024 * 1024;
pub(crate) const ARGUMENTS_MOST: usize = 1024 * 1024;
pub(crate) const CALLS_MOST: usize = 64;
/// Bytes of an id or a name that a provider made up.
const WORD_MOST: usize = 256;
/// Characters of the provider's word for why it stopped.
const STOP_MOST: usize = 64;

/// Who is told the text as it arrives.
pub(crate) type Heard<'a> = &'a mut (dyn FnMut(&str) + Send);

#[derive(Debug, Default)]
pub(crate) struct Draft {
    text: String,
    calls: Vec<ToolCall>,
    arguments_bytes: usize,
    stop: Option<Stop>,
    pub(crate) usage: Option<Usage>,
    model: String,
}

impl Draft {
    pub(crate) fn say(&mut self, piece: &str, heard: Heard<'_>) -> Result<()> {
        if self.text.len() + piece.len() > TEXT_MOST {
            return Err(Error::TooLarge);
        }
        if !piece.is_empty() {
            self.text.push_str(piece);
            heard(piece);
        }
        Ok(())
    }

    /// Begins a call, and says where it is.
    pub(crate) fn call(&mut self, id: &str, name: &str) -> Result<usize> {
        if self.calls.len() == CALLS_MOST || id.len() > WORD_MOST || name.len() > WORD_MOST {
            return Err(Error::TooLarge);
        }
        self.calls.push(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: String::new() });
        Ok(self.calls.len() - 1)
    }

    /// The call at that place, to see what is known of it.
    pub(crate) fn at(&self, place: usize) -> Option<&ToolCall> {
        self.calls.get(place)
    }

    /// What a call turned out to be called, where its beginning did not say.
    pub(crate) fn name(&mut self, place: usize, id: &str, name: &str) -> Result<()> {
        let Some(call) = self.calls.get_mut(place) else { return Err(Error::Garbled("a part of no call")) };
        if id.len() > WORD_MOST || name.len() > WORD_MOST {
            return Err(Error::TooLarge);
        }
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        Ok(())
    }

    pub(crate) fn argue(&mut self, place: usize, piece: &str) -> Result<()> {
        let Some(call) = self.calls.get_mut(place) else { return Err(Error::Garbled("a part of no call")) };
        self.arguments_bytes += piece.len();
        if self.arguments_bytes > ARGUMENTS_MOST {
            return Err(Error::TooLarge);
        }
        call.arguments.push_str(piece);
        Ok(())
    }

    pub(crate) fn stop(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// Whether anything of an answer came, so that there is something to pay for.
    pub(crate) fn has_begun(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    pub(crate) fn answered_by(&mut self, model: &str) {
        if self.model.is_empty() {
            self.model = model.chars().filter(|letter| !letter.is_control()).take(WORD_MOST).collect();
        }
    }

    /// The reply, if the model stopped. Whether the stream was whole its protocol knows.
    pub(crate) fn finish(mut self, asked_for: &str, names: &WireNames) -> Result<Reply> {
        let stop = self.stop.ok_or(Error::Cut)?;
        let mut ids = BTreeSet::new();
        for (place, call) in self.calls.iter_mut().enumerate() {
            // Some servers give no ids, or all calls the same one; a result must find its call.
            if call.id.is_empty() || ids.contains(&call.id) {
                call.id = free_id(&ids, place);
            }
            ids.insert(call.id.clone());
            call.name = names.meant(&call.name).to_owned();
            if call.arguments.trim().is_empty() && stop == Stop::Done {
                "{}".clone_into(&mut call.arguments);
            }
        }
        let model = if self.model.is_empty() { asked_for.to_owned() } else { self.model };
        Ok(Reply { text: self.text, calls: self.calls, stop, usage: self.usage, model })
    }
}

fn free_id(taken: &BTreeSet<String>, place: usize) -> String {
    let mut id = format!("call_{place}");
    while taken.contains(&id) {
        id.push('x');
    }
    id
}

/// A stop that neither ended nor was cut by length.
pub(crate) fn other_stop(word: &str) -> Stop {
    Stop::Other(word.chars().filter(|letter| !letter.is_control()).take(STOP_MOST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_repeated_ids_are_replaced_the_same_way_each_time() {
        let mut draft = Draft::default();
        for id in ["", "call_2", "", "same", "same"] {
            let place = draft.call(id, "tool").unwrap();
            draft.argue(place, "{}").unwrap();
        }
        draft.stop(Stop::Done);
        let reply = draft.finish("model", &WireNames::default()).unwrap();
        let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_0", "call_2", "call_2x", "same", "call_4"]);
    }

    #[test]
    fn what_exceeds_its_bound_is_an_error() {
        let mut draft = Draft::default();
        draft.say(&"a".repeat(TEXT_MOST), &mut |_| {}).unwrap();
        assert_eq!(draft.say("a", &mut |_| {}), Err(Error::TooLarge));
        let first = draft.call("", "tool").unwrap();
        let second = draft.call("", "tool").unwrap();
        draft.argue(first, &"1".repeat(ARGUMENTS_MOST / 2)).unwrap();
        draft.argue(second, &"1".repeat(ARGUMENTS_MOST / 2)).unwrap();
        assert_eq!(draft.argue(second, "1"), Err(Error::TooLarge));
        assert_eq!(draft.call(&"i".repeat(WORD_MOST + 1), "tool"), Err(Error::TooLarge));
        for _ in 2..CALLS_MOST {
            draft.call("", "tool").unwrap();
        }
        assert_eq!(draft.call("", "tool"), Err(Error::TooLarge));
        assert_eq!(draft.finish("model", &WireNames::default()), Err(Error::Cut), "nobody said that it is over");
    }
}
