//! What the imitation answers: words, calls, figures, and what goes wrong with them.

use serde_json::Value;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub text: String,
    /// Names as the house has them; dots are written as the protocols want them.
    pub calls: Vec<(String, Value)>,
    /// Tokens in and out.
    pub usage: (u64, u64),
    /// How long the answer is waited for.
    pub delay: Duration,
    /// Whether the model ran into its limit.
    pub is_cut_short: bool,
    pub fault: Option<Fault>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A status instead of an answer, and what stands in `Retry-After`. The words of the refusal repeat the key.
    Status(u16, Option<String>),
    /// With this status, to there.
    Redirect(u16, String),
    /// Takes the request and never answers.
    Hang,
    /// Falls silent after so many bytes of the answer.
    HangAfter(usize),
    /// Closes after so many bytes of the answer.
    CutAt(usize),
    /// Closes without a word.
    Close,
    Garbage,
    /// A page for browsers, as at an address that is not the provider's.
    WebPage,
    /// Text without an end.
    Huge,
    /// The arguments of the last call end in the middle, and the model says that it is done.
    TruncatedToolJson,
    NoUsage,
    NoFinish,
    BadUtf8,
    /// An error where the answer should begin.
    ErrorInStream,
    /// An error after the first words.
    ErrorAfterText,
    /// Does not stream: one JSON object.
    AtOnce,
}

impl Turn {
    pub fn say(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            calls: Vec::new(),
            usage: (100, 20),
            delay: Duration::ZERO,
            is_cut_short: false,
            fault: None,
        }
    }

    pub fn call(name: &str, arguments: Value) -> Self {
        Self::say("").and_call(name, arguments)
    }

    pub fn fault(fault: Fault) -> Self {
        Self::say("Something is wrong here.").with(fault)
    }

    #[must_use]
    pub fn and_call(mut self, name: &str, arguments: Value) -> Self {
        self.calls.push((name.to_owned(), arguments));
        self
    }

    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    #[must_use]
    pub fn using(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        self.usage = (input_tokens, output_tokens);
        self
    }

    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    #[must_use]
    pub fn cut_short(mut self) -> Self {
        self.is_cut_short = true;
        self
    }

    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.fault.as_ref() == Some(fault)
    }

    /// The text in pieces of a few characters, as models stream it.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let letters: Vec<char> = self.text.chars().collect();
        letters.chunks(8).map(|piece| piece.iter().collect()).collect()
    }

    /// The calls as they go over the wire: name, and arguments as text.
    pub(crate) fn wire_calls(&self) -> Vec<(String, String)> {
        let mut calls: Vec<_> =
            self.calls.iter().map(|(name, value)| (name.replace('.', "__"), value.to_string())).collect();
        if let Some((_, arguments)) = calls.last_mut().filter(|_| self.has(&Fault::TruncatedToolJson)) {
            arguments.truncate(arguments.len() / 2);
        }
        calls
    }
}
