//! One client of the mixed load. It tells the oracle before it asks and after it was answered, and reads what it wrote.

use super::door::{Door, Gone};
use super::oracle::{Effect, Entry, Expected, Found, Key, Moment, State, Tally, now, text_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::Random;

const KEYS: usize = 5;
/// A refusal is tried again after a moment, as a polite client would.
const PAUSE: Duration = Duration::from_millis(5);

/// A write whose answer was never heard: it is sent again under the same key and must have one effect.
struct Repeat {
    key: usize,
    number: u64,
    versions: BTreeSet<u64>,
}

/// A snapshot, and what may be in it under each key.
struct Frozen {
    label: String,
    begun: Moment,
    acknowledged: Option<Moment>,
    content: Vec<Expected>,
}

pub(super) struct Client {
    pub(super) session: String,
    name: String,
    keys: Vec<Key>,
    sent: u64,
    repeat: Option<Repeat>,
    snapshots: Vec<Frozen>,
    may_freeze: bool,
    chance: Random,
    pub(super) tally: Tally,
}

impl Client {
    pub(super) fn new(session: String, name: String, seed: u64) -> Self {
        Self {
            session,
            name,
            keys: (0..KEYS).map(|_| Key::default()).collect(),
            sent: 0,
            repeat: None,
            snapshots: Vec::new(),
            may_freeze: true,
            chance: Random::new(seed + 1),
            tally: Tally::default(),
        }
    }

    /// A session has only so many snapshots: one for each round.
    pub(super) fn new_round(&mut self) {
        self.may_freeze = true;
    }

    fn key(&self, at: usize) -> String {
        format!("{}k{at}", self.name)
    }

    /// One request and its answer.
    pub(super) fn step(&mut self, door: &Door) -> Result<(), Gone> {
        if let Some(repeat) = self.repeat.take() {
            return self.write_once(door, repeat);
        }
        let at = self.chance.index(KEYS);
        match self.chance.below(100) {
            0..15 => {
                self.sent += 1;
                let versions = self.keys[at].expected().next_versions();
                let repeat = Repeat { key: at, number: self.sent, versions };
                self.write_once(door, repeat)
            }
            15..30 if !self.keys[at].expected().is_absent() => self.delete(door, at),
            30..50 => self.read(door, at),
            50..52 if self.may_freeze => self.freeze(door),
            _ => self.write(door, at),
        }
    }

    fn write(&mut self, door: &Door, at: usize) -> Result<(), Gone> {
        self.sent += 1;
        let number = self.sent;
        let versions = self.keys[at].expected().next_versions();
        self.keys[at].begin(Effect::Write(number));
        let body = json!({"action": "write", "key": self.key(at), "value": text_of(&self.name, number)});
        if let Some(answer) = self.heard(door.ask(&self.session, &body)?) {
            self.written(at, number, &versions, &answer);
        }
        Ok(())
    }

    fn write_once(&mut self, door: &Door, repeat: Repeat) -> Result<(), Gone> {
        let Repeat { key: at, number, .. } = repeat;
        self.keys[at].begin(Effect::Write(number));
        let once = format!("{}-{}-{number}", self.session, self.name);
        let value = text_of(&self.name, number);
        let body = json!({"action": "write", "key": self.key(at), "value": value, "idempotency_key": once});
        let versions = repeat.versions.clone();
        self.repeat = Some(repeat);
        if let Some(answer) = self.heard(door.ask(&self.session, &body)?) {
            self.repeat = None;
            self.written(at, number, &versions, &answer);
        }
        Ok(())
    }

    /// The version says whether anything came between, or the write took effect twice.
    fn written(&mut self, at: usize, number: u64, versions: &BTreeSet<u64>, answer: &Value) {
        let version = answer["version"].as_u64().unwrap_or_else(|| panic!("no version in {answer}"));
        let note = || format!("{} {number}: answered with version {version} of {versions:?}", self.name);
        match versions.contains(&version) {
            true => {}
            false if versions.iter().all(|known| *known < version) => self.tally.doubled(&note()),
            false => self.tally.lost(&note()),
        }
        self.tally.acknowledged += 1;
        self.keys[at].answered(Some(Entry { version, number }));
    }

    fn delete(&mut self, door: &Door, at: usize) -> Result<(), Gone> {
        let expected = self.keys[at].expected();
        self.keys[at].begin(Effect::Delete);
        let Some(answer) = self.heard(door.ask(&self.session, &json!({"action": "delete", "key": self.key(at)}))?)
        else {
            return Ok(());
        };
        let version = answer["previous_version"].as_u64();
        if !expected.has_version(version) {
            self.tally.lost(&format!("{}: deleted {version:?} instead of {expected:?}", self.name));
        }
        self.tally.acknowledged += 1;
        self.keys[at].answered(None);
        Ok(())
    }

    fn read(&mut self, door: &Door, at: usize) -> Result<(), Gone> {
        let expected = self.keys[at].expected();
        self.keys[at].begin(Effect::Look);
        let answer = door.ask(&self.session, &json!({"action": "read", "key": self.key(at)}))?;
        if let Some(answer) = self.heard(answer) {
            let state = self.tally.judge(&self.name, self.sent, &found(&answer), &expected);
            self.keys[at].answered(state);
        }
        Ok(())
    }

    fn freeze(&mut self, door: &Door) -> Result<(), Gone> {
        self.may_freeze = false;
        let label = format!("{}-{}", self.name, self.snapshots.len());
        let content = self.keys.iter().map(Key::expected).collect();
        self.snapshots.push(Frozen { label: label.clone(), begun: now(), acknowledged: None, content });
        let answer = door.ask(&self.session, &json!({"action": "snapshot", "label": label}))?;
        if self.heard(answer).is_some() {
            self.snapshots.last_mut().expect("just pushed").acknowledged = Some(now());
            self.tally.acknowledged += 1;
        }
        Ok(())
    }

    /// The answer, unless the server says that it cannot keep anything just now.
    fn heard(&mut self, (status, answer): (u16, Value)) -> Option<Value> {
        let code = answer["error"]["code"].as_str().unwrap_or("");
        match (status, code) {
            (200, _) | (404, "KEY_NOT_FOUND") => Some(answer),
            (503, "UNAVAILABLE") | (507, "STORAGE_FULL") => {
                self.tally.refused += 1;
                std::thread::sleep(PAUSE);
                None
            }
            _ => panic!("{} was answered {status} {answer}", self.name),
        }
    }

    /// After a restart: compares every key with what is known, and goes on from there.
    pub(super) fn check(&mut self, door: &Door) {
        let mut tally = std::mem::take(&mut self.tally);
        let states = self.compare(door, Moment::MAX, &mut tally);
        self.keys.iter_mut().zip(states).for_each(|(key, state)| key.settle(state));
        self.compare_snapshot(door, Moment::MAX, self.snapshots.len().saturating_sub(1), &mut tally);
        self.tally = tally;
    }

    /// Compares with what was known at an earlier moment.
    pub(super) fn check_at(&self, door: &Door, moment: Moment, tally: &mut Tally) {
        self.compare(door, moment, tally);
        (0..self.snapshots.len()).for_each(|at| self.compare_snapshot(door, moment, at, tally));
    }

    /// Reads key by key where some answers may be errors. Gives how many were; what is wrong goes into the tally.
    pub(super) fn read_each(&self, url: &str, token: &str, tally: &mut Tally) -> u64 {
        let mut failed = 0;
        for (at, key) in self.keys.iter().enumerate() {
            // A request that is refused before its body was read takes the connection with it.
            let door = Door::new(url, token);
            let answer = door.ask(&self.session, &json!({"action": "read", "key": self.key(at)})).expect("an answer");
            match answer.0 {
                200 => drop(tally.judge(&self.name, self.sent, &found(&answer.1), &key.expected())),
                404 if answer.1["error"]["code"] == "KEY_NOT_FOUND" => {
                    tally.judge(&self.name, self.sent, &Found::Absent, &key.expected());
                }
                _ => failed += 1,
            }
        }
        failed
    }

    fn compare(&self, door: &Door, moment: Moment, tally: &mut Tally) -> Vec<State> {
        let names: Vec<String> = (0..KEYS).map(|at| self.key(at)).collect();
        let batch = door.ask(&self.session, &json!({"action": "read_batch", "keys": names})).expect("an answer").1;
        let keys = self.keys.iter().zip(&names);
        keys.map(|(key, name)| tally.judge(&self.name, self.sent, &found_in(&batch, name), &key.expected_at(moment)))
            .collect()
    }

    fn compare_snapshot(&self, door: &Door, moment: Moment, at: usize, tally: &mut Tally) {
        let Some(frozen) = self.snapshots.get(at) else { return };
        let names: Vec<String> = (0..KEYS).map(|at| self.key(at)).collect();
        let body = json!({"action": "read_snapshot", "label": frozen.label, "keys": names});
        let (status, content) = door.ask(&self.session, &body).expect("an answer");
        if status != 200 {
            if frozen.acknowledged.is_some_and(|at| at < moment) {
                tally.lost(&format!("snapshot {}: {content}", frozen.label));
            }
        } else if frozen.begun >= moment {
            tally.invented(&format!("snapshot {}: {content}", frozen.label));
        } else {
            for (expected, name) in frozen.content.iter().zip(&names) {
                tally.judge(&self.name, self.sent, &found_in(&content, name), expected);
            }
        }
    }

    /// Every value that history still knows was written once, and every snapshot is what it was.
    pub(super) fn check_history(&mut self, door: &Door) {
        let mut tally = std::mem::take(&mut self.tally);
        for at in 0..KEYS {
            let (_, answer) =
                door.ask(&self.session, &json!({"action": "read_history", "key": self.key(at)})).expect("an answer");
            let values: Vec<&str> = answer["history"].as_array().into_iter().flatten().filter_map(text).collect();
            if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
                tally.doubled(&format!("the history of {}: {answer}", self.key(at)));
            }
        }
        (0..self.snapshots.len()).for_each(|at| self.compare_snapshot(door, Moment::MAX, at, &mut tally));
        self.tally = tally;
    }
}

fn text(item: &Value) -> Option<&str> {
    item["value"].as_str()
}

fn found(entry: &Value) -> Found {
    match (entry["version"].as_u64(), entry["value"].as_str()) {
        (Some(version), Some(text)) => Found::Value { version, text: text.to_owned() },
        _ => Found::Absent,
    }
}

fn found_in(batch: &Value, key: &str) -> Found {
    let entries = batch["entries"].as_array().map_or(&[][..], Vec::as_slice);
    entries.iter().find(|entry| entry["key"] == key).map_or(Found::Absent, found)
}
