//! The oracle. It lives outside of the server and knows for every key what was acknowledged and what was under way;
//! from that it tells what may be found at any moment, and gives what must not be a name: lost, invented, doubled, torn.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

/// Time since 1970, the clock that traces of system calls use too.
pub(super) type Moment = Duration;

#[allow(clippy::disallowed_methods, reason = "what was acknowledged is compared with the times in a trace")]
pub(super) fn now() -> Moment {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap()
}

/// A value is known by its number: no number is ever sent twice except on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) version: u64,
    pub(super) number: u64,
}

/// `None`: the key is not there.
pub(super) type State = Option<Entry>;

#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    Write(u64),
    Delete,
    Look,
}

impl Effect {
    fn after(self, state: State) -> State {
        match self {
            // The same request sent again.
            Self::Write(number) if state.is_some_and(|entry| entry.number == number) => state,
            Self::Write(number) => Some(Entry { version: state.map_or(0, |entry| entry.version) + 1, number }),
            Self::Delete => None,
            Self::Look => state,
        }
    }
}

/// What may be found under a key.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    states: BTreeSet<State>,
    /// The same, and writes that were refused, then seen not to be there, and take effect all the same.
    late: BTreeSet<State>,
}

impl Expected {
    fn only(state: State) -> Self {
        Self { states: BTreeSet::from([state]), late: BTreeSet::from([state]) }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.late == BTreeSet::from([None])
    }

    /// The versions that the next write may be answered with.
    pub(super) fn next_versions(&self) -> BTreeSet<u64> {
        self.late.iter().map(|state| state.map_or(0, |entry| entry.version) + 1).collect()
    }

    pub(super) fn has_version(&self, version: Option<u64>) -> bool {
        self.late.iter().any(|state| state.map(|entry| entry.version) == version)
    }
}

/// Adds what there is if a request took effect whose answer is not known.
fn extend(states: &mut BTreeSet<State>, effect: Effect) {
    let more: Vec<State> = states.iter().map(|state| effect.after(*state)).collect();
    states.extend(more);
}

struct Step {
    begun: Moment,
    effect: Effect,
    /// When the answer came, and what it said about the key.
    answer: Option<(Moment, State)>,
}

/// What is known of one key. Only one client writes it, one request after the other.
#[derive(Default)]
pub(super) struct Key {
    settled: State,
    steps: Vec<Step>,
}

impl Key {
    pub(super) fn begin(&mut self, effect: Effect) {
        self.steps.push(Step { begun: now(), effect, answer: None });
    }

    pub(super) fn answered(&mut self, state: State) {
        self.steps.last_mut().expect("something was begun").answer = Some((now(), state));
    }

    /// What may be found if everything stopped at `moment`.
    pub(super) fn expected_at(&self, moment: Moment) -> Expected {
        let mut expected = Expected::only(self.settled);
        let mut unheard = Vec::new();
        for step in self.steps.iter().take_while(|step| step.begun < moment) {
            match (step.effect, step.answer.filter(|(at, _)| *at < moment)) {
                (Effect::Look, Some((_, state))) => {
                    expected = Expected::only(state);
                    unheard.iter().for_each(|effect| extend(&mut expected.late, *effect));
                }
                (_, Some((_, state))) => {
                    expected = Expected::only(state);
                    unheard.clear();
                }
                (effect, None) => {
                    extend(&mut expected.states, effect);
                    extend(&mut expected.late, effect);
                    unheard.push(effect);
                }
            }
        }
        expected
    }

    pub(super) fn expected(&self) -> Expected {
        self.expected_at(Moment::MAX)
    }

    /// Goes on from what was found after a restart.
    pub(super) fn settle(&mut self, found: State) {
        *self = Self { settled: found, steps: Vec::new() };
    }
}

/// What a reader was shown.
#[derive(Debug)]
pub(super) enum Found {
    Absent,
    Value { version: u64, text: String },
}

/// The text of a value tells whose and which it is, and is torn if it differs anywhere.
pub(super) fn text_of(client: &str, number: u64) -> String {
    let mut text = format!("{client}.{number}.");
    // From a few characters to more than a page of the database.
    let length = [20, 60, 200, 700, 3_000][(number % 5) as usize];
    while text.len() < length {
        let _ = write!(text, "{:x}", (number + 1).wrapping_mul(text.len() as u64 * 0x9e37_79b9));
    }
    text
}

/// What was counted over a whole test.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) acknowledged: u64,
    /// Refusals by which the server said that it could not keep a write just now.
    pub(super) refused: u64,
    /// Refused writes that were seen not to be there and took effect later.
    pub(super) late: u64,
    pub(super) lost: u64,
    pub(super) invented: u64,
    pub(super) doubled: u64,
    pub(super) torn: u64,
    notes: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.late += other.late;
        self.lost += other.lost;
        self.invented += other.invented;
        self.doubled += other.doubled;
        self.torn += other.torn;
        self.notes.extend(other.notes);
    }

    pub(super) fn wrong(&self) -> u64 {
        self.lost + self.invented + self.doubled + self.torn
    }

    /// Compares what was found with what may be there; `sent` is the last number that `client` used.
    pub(super) fn judge(&mut self, client: &str, sent: u64, found: &Found, expected: &Expected) -> State {
        let Found::Value { version, text } = found else {
            if !expected.late.contains(&None) {
                self.lost(&format!("{client}: nothing found instead of {expected:?}"));
            }
            return None;
        };
        let number = text.split('.').nth(1).and_then(|number| number.parse().ok());
        let Some(number) = number.filter(|number| *text == text_of(client, *number)) else {
            self.torn(&format!("{client}: {text:?} was never one value"));
            return None;
        };
        let state = Some(Entry { version: *version, number });
        if expected.late.contains(&state) {
            self.late += u64::from(!expected.states.contains(&state));
            return state;
        }
        let note = format!("{client}: found {state:?} instead of {expected:?}");
        match expected.late.iter().flatten().find(|entry| entry.number == number) {
            _ if number > sent => self.invented(&note),
            Some(entry) if *version > entry.version => self.doubled(&note),
            // An older value in the place of what came after it, be it a newer one or none.
            _ => self.lost(&note),
        }
        state
    }

    pub(super) fn lost(&mut self, note: &str) {
        self.lost += 1;
        self.notes.push(format!("lost: {note}"));
    }

    pub(super) fn invented(&mut self, note: &str) {
        self.invented += 1;
        self.notes.push(format!("invented: {note}"));
    }

    pub(super) fn doubled(&mut self, note: &str) {
        self.doubled += 1;
        self.notes.push(format!("doubled: {note}"));
    }

    pub(super) fn torn(&mut self, note: &str) {
        self.torn += 1;
        self.notes.push(format!("torn: {note}"));
    }

    pub(super) fn assert_clean(&self) {
        assert!(self.wrong() == 0, "{}", self.notes.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(version: u64, number: u64) -> State {
        Some(Entry { version, number })
    }

    #[test]
    fn the_oracle_names_what_must_not_be() {
        let mut key = Key::default();
        key.begin(Effect::Write(1));
        key.answered(entry(1, 1));
        key.begin(Effect::Write(2));
        key.answered(entry(2, 2));
        key.begin(Effect::Write(3));
        let value = |version, number| Found::Value { version, text: text_of("a", number) };
        let cases = [
            (value(2, 2), [0, 0, 0, 0]),
            (value(3, 3), [0, 0, 0, 0]),
            (value(1, 1), [1, 0, 0, 0]),
            (Found::Absent, [1, 0, 0, 0]),
            (value(4, 4), [0, 1, 0, 0]),
            (value(4, 3), [0, 0, 1, 0]),
            (Found::Value { version: 3, text: text_of("a", 3).replace("a.3.", "a.2.") }, [0, 0, 0, 1]),
        ];
        for (found, expected) in cases {
            let mut tally = Tally::default();
            tally.judge("a", 3, &found, &key.expected());
            assert_eq!([tally.lost, tally.invented, tally.doubled, tally.torn], expected, "{found:?}");
        }
    }

    #[test]
    fn a_refused_write_that_was_seen_not_to_be_there_is_late_until_the_next_one_is_acknowledged() {
        let mut key = Key::default();
        key.begin(Effect::Write(1));
        key.begin(Effect::Look);
        key.answered(None);
        let found = Found::Value { version: 1, text: text_of("a", 1) };
        let mut tally = Tally::default();
        tally.judge("a", 1, &found, &key.expected());
        assert_eq!((tally.late, tally.wrong()), (1, 0));
        key.begin(Effect::Write(2));
        key.answered(entry(1, 2));
        tally.judge("a", 2, &found, &key.expected());
        assert_eq!((tally.late, tally.lost), (1, 1));
    }

    #[test]
    fn at_an_earlier_moment_what_was_answered_later_was_under_way() {
        let mut key = Key::default();
        key.begin(Effect::Write(1));
        let before = now();
        std::thread::sleep(Duration::from_millis(1));
        key.answered(entry(1, 1));
        assert_eq!(key.expected_at(before).states, BTreeSet::from([None, entry(1, 1)]));
        assert_eq!(key.expected().states, BTreeSet::from([entry(1, 1)]));
    }
}
