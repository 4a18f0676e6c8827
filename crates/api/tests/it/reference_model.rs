//! Random lives of a shared context, compared step by step with the simplest thing that could be right.

use super::room::{Room, names};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MAX_VALUE: u64 = 6;
const MAX_STORE: u64 = 12;
const KEEP: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Write { key: usize, length: usize, expect: Expect, ttl: Option<i64> },
    Delete { key: usize, expect: Expect },
    Snapshot { label: usize },
    Restore { label: usize },
    Diff { from: u64, to: u64 },
    Wait { seconds: i64 },
}

/// What the caller believes, relative to the truth so that it is often right.
#[derive(Debug, Clone, Copy)]
enum Expect {
    Nothing,
    Version(i64),
    Rev(i64),
    Absent,
}

fn expects() -> impl Strategy<Value = Expect> {
    prop_oneof![
        4 => Just(Expect::Nothing),
        2 => (-1..2_i64).prop_map(Expect::Version),
        1 => (-1..2_i64).prop_map(Expect::Rev),
        1 => Just(Expect::Absent),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ttl = prop_oneof![3 => Just(None), 1 => (1..8_i64).prop_map(Some)];
    let step = prop_oneof![
        10 => (0..5_usize, 0..28_usize, expects(), ttl)
            .prop_map(|(key, length, expect, ttl)| Step::Write { key, length, expect, ttl }),
        4 => (0..5_usize, expects()).prop_map(|(key, expect)| Step::Delete { key, expect }),
        2 => (0..3_usize).prop_map(|label| Step::Snapshot { label }),
        2 => (0..3_usize).prop_map(|label| Step::Restore { label }),
        2 => (0..12_u64, 0..12_u64).prop_map(|(from, to)| Step::Diff { from, to }),
        2 => (1..6_i64).prop_map(|seconds| Step::Wait { seconds }),
    ];
    prop::collection::vec(step, 40)
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    value: String,
    version: u64,
    rev: u64,
    until: Option<i64>,
}

impl Entry {
    fn tokens(&self) -> u64 {
        (self.value.len() as u64).div_ceil(4)
    }
}

/// `(version, rev, value)`; a removal has no value.
type Record = (u64, u64, Option<String>);

#[derive(Default)]
struct Model {
    now: i64,
    rev: u64,
    live: BTreeMap<String, Entry>,
    history: BTreeMap<String, Vec<Record>>,
    /// The state after each rev, for differences: key → rev of its entry.
    states: Vec<BTreeMap<String, u64>>,
    floor: u64,
    snapshots: BTreeMap<String, BTreeMap<String, Entry>>,
}

impl Model {
    fn new() -> Self {
        Self { states: vec![BTreeMap::new()], ..Self::default() }
    }

    fn total(&self) -> u64 {
        self.live.values().map(Entry::tokens).sum()
    }

    fn changed(&mut self, key: &str, record: Record) {
        let records = self.history.entry(key.to_owned()).or_default();
        records.push(record);
        if records.len() > KEEP {
            records.remove(0);
            self.floor = self.floor.max(records[0].1);
        }
        self.states.push(self.live.iter().map(|(key, entry)| (key.clone(), entry.rev)).collect());
        assert_eq!(self.states.len() as u64, self.rev + 1);
    }

    fn put(&mut self, key: &str, value: String, until: Option<i64>) -> (u64, u64) {
        self.rev += 1;
        let version = self.live.get(key).map_or(0, |entry| entry.version) + 1;
        self.live.insert(key.to_owned(), Entry { value: value.clone(), version, rev: self.rev, until });
        self.changed(key, (version, self.rev, Some(value)));
        (version, self.rev)
    }

    fn remove(&mut self, key: &str) -> u64 {
        self.rev += 1;
        let entry = self.live.remove(key).expect("a live entry");
        self.changed(key, (entry.version, self.rev, None));
        entry.version
    }

    /// Ends what is over, earliest first.
    fn sweep(&mut self) {
        let mut over: Vec<(i64, String)> = Vec::new();
        for (key, entry) in &self.live {
            over.extend(entry.until.filter(|until| *until <= self.now).map(|until| (until, key.clone())));
        }
        over.sort();
        for (_, key) in over {
            self.remove(&key);
        }
    }

    /// The fields to send, and whether they hold.
    fn expectation(&self, key: &str, expect: Expect) -> (Value, bool) {
        let (version, rev) = self.live.get(key).map_or((0, 0), |entry| (entry.version, entry.rev));
        let near = |truth: u64, off: i64| truth.saturating_add_signed(off);
        match expect {
            Expect::Nothing => (json!({}), true),
            Expect::Absent => (json!({"if_version": 0}), version == 0),
            Expect::Version(off) => (json!({"if_version": near(version, off)}), near(version, off) == version),
            Expect::Rev(off) => (json!({"if_rev": near(rev, off)}), near(rev, off) == rev),
        }
    }

    fn write_outcome(&self, key: &str, value: &str, holds: bool) -> &'static str {
        let tokens = (value.len() as u64).div_ceil(4);
        let freed = self.live.get(key).map_or(0, Entry::tokens);
        match () {
            () if !holds => "VERSION_CONFLICT",
            () if tokens > MAX_VALUE => "VALUE_TOO_LARGE",
            () if self.total() - freed + tokens > MAX_STORE => "STORE_FULL",
            () => "",
        }
    }

    fn diff_outcome(&self, from: u64, to: u64) -> &'static str {
        let outcome = |rev: u64| match () {
            () if rev > self.rev => "INVALID_REQUEST",
            () if rev < self.floor => "EXPIRED",
            () => "",
        };
        if outcome(from).is_empty() { outcome(to) } else { outcome(from) }
    }
}

/// The model and the house side by side.
struct Pair {
    room: Room,
    model: Model,
}

impl Pair {
    async fn take(&mut self, step: Step) {
        match step {
            Step::Write { key, length, expect, ttl } => self.write(&format!("k{key}"), length, expect, ttl).await,
            Step::Delete { key, expect } => self.delete(&format!("k{key}"), expect).await,
            Step::Snapshot { label } => self.snapshot(&format!("s{label}")).await,
            Step::Restore { label } => self.restore(&format!("s{label}")).await,
            Step::Diff { from, to } => self.diff(from, to).await,
            Step::Wait { seconds } => {
                self.model.now += seconds;
                self.room.world.clock.advance_s(seconds);
            }
        }
        self.model.sweep();
        self.compare().await;
    }

    async fn ask(&self, request: Value, expected: &str) -> Value {
        let answer = self.room.try_as(&self.room.owner, request.clone()).await;
        assert_eq!(answer.code(), expected, "{request}: {}", answer.text);
        answer.json()
    }

    async fn write(&mut self, key: &str, length: usize, expect: Expect, ttl: Option<i64>) {
        let value = "x".repeat(length);
        let (mut request, holds) = self.model.expectation(key, expect);
        request["action"] = json!("write");
        request["key"] = json!(key);
        request["value"] = json!(value);
        request["ttl_seconds"] = json!(ttl);
        let expected = self.model.write_outcome(key, &value, holds);
        let answer = self.ask(request, expected).await;
        let details = &answer["error"]["details"];
        match expected {
            "" => {
                let until = ttl.map(|ttl| self.model.now + ttl);
                let (version, rev) = self.model.put(key, value, until);
                assert_eq!((&answer["version"], &answer["rev"]), (&json!(version), &json!(rev)));
                assert_eq!(answer["total_size_tokens"], self.model.total());
            }
            "VERSION_CONFLICT" => {
                let current = self.model.live.get(key).map_or((0, 0), |entry| (entry.version, entry.rev));
                assert_eq!(
                    (&details["current_version"], &details["current_rev"]),
                    (&json!(current.0), &json!(current.1))
                );
            }
            "STORE_FULL" => assert_eq!(details["total_size_tokens"], self.model.total()),
            _ => {}
        }
    }

    async fn delete(&mut self, key: &str, expect: Expect) {
        let (mut request, holds) = self.model.expectation(key, expect);
        request["action"] = json!("delete");
        request["key"] = json!(key);
        let expected = match self.model.live.get(key) {
            None => "KEY_NOT_FOUND",
            Some(_) if !holds => "VERSION_CONFLICT",
            Some(_) => "",
        };
        let answer = self.ask(request, expected).await;
        if expected.is_empty() {
            assert_eq!(answer["previous_version"], self.model.remove(key));
        }
    }

    async fn snapshot(&mut self, label: &str) {
        let expected = if self.model.snapshots.contains_key(label) { "SNAPSHOT_EXISTS" } else { "" };
        let answer = self.ask(json!({"action": "snapshot", "label": label}), expected).await;
        if expected.is_empty() {
            assert_eq!(
                (&answer["rev"], &answer["total_size_tokens"]),
                (&json!(self.model.rev), &json!(self.model.total()))
            );
            assert_eq!(answer["key_count"], self.model.live.len());
            self.model.snapshots.insert(label.to_owned(), self.model.live.clone());
        }
        let frozen = &self.model.snapshots[label];
        let read = self.ask(json!({"action": "read_snapshot", "label": label}), "").await;
        let entries = read["entries"].as_array().unwrap();
        assert_eq!(names(&read["entries"]), frozen.keys().cloned().collect::<Vec<_>>());
        for (entry, expected) in entries.iter().zip(frozen.values()) {
            assert_eq!((&entry["value"], &entry["version"]), (&json!(expected.value), &json!(expected.version)));
        }
    }

    async fn restore(&mut self, label: &str) {
        let Some(frozen) = self.model.snapshots.get(label).cloned() else {
            self.ask(json!({"action": "restore_snapshot", "label": label}), "SNAPSHOT_NOT_FOUND").await;
            return;
        };
        self.ask(json!({"action": "restore_snapshot", "label": label}), "").await;
        let now = self.model.now;
        let mut young: Vec<String> = self.model.live.keys().cloned().collect();
        for (key, entry) in frozen.into_iter().filter(|(_, entry)| entry.until.is_none_or(|until| until > now)) {
            young.retain(|name| *name != key);
            self.model.put(&key, entry.value, entry.until);
        }
        for key in young {
            self.model.remove(&key);
        }
    }

    async fn diff(&mut self, from: u64, to: u64) {
        let expected = self.model.diff_outcome(from, to);
        let answer = self.ask(json!({"action": "diff", "from": from, "to": to}), expected).await;
        if !expected.is_empty() {
            return;
        }
        let state = |rev: u64| &self.model.states[usize::try_from(rev).unwrap()];
        let (before, after) = (state(from), state(to));
        let only = |a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>| -> Vec<String> {
            a.keys().filter(|key| !b.contains_key(*key)).cloned().collect()
        };
        let changed = before.iter().filter(|(key, rev)| after.get(*key).is_some_and(|other| other != *rev));
        assert_eq!(names(&answer["added"]), only(after, before));
        assert_eq!(names(&answer["removed"]), only(before, after));
        assert_eq!(names(&answer["changed"]), changed.map(|(key, _)| key.clone()).collect::<Vec<_>>());
    }

    /// The whole visible state is the model's.
    async fn compare(&self) {
        let listing = self.ask(json!({"action": "list_keys"}), "").await;
        assert_eq!(listing["total_size_tokens"], self.model.total());
        assert_eq!(names(&listing["keys"]), self.model.live.keys().cloned().collect::<Vec<_>>());
        for (found, entry) in listing["keys"].as_array().unwrap().iter().zip(self.model.live.values()) {
            let numbers = (&found["version"], &found["rev"], &found["value_size_tokens"]);
            assert_eq!(numbers, (&json!(entry.version), &json!(entry.rev), &json!(entry.tokens())));
            assert_eq!(found.get("expires_at").is_some(), entry.until.is_some());
        }
        assert_eq!(self.room.session().await["rev"], self.model.rev);
        for (key, records) in &self.model.history {
            let answer = self.ask(json!({"action": "read_history", "key": key}), "").await;
            let found: Vec<Record> = answer["history"].as_array().unwrap().iter().map(record).collect();
            assert_eq!(found, *records, "{key}");
        }
    }
}

fn record(item: &Value) -> Record {
    let value = item["value"].as_str().map(str::to_owned);
    assert_eq!(item.get("deleted").is_some(), value.is_none());
    (item["version"].as_u64().unwrap(), item["rev"].as_u64().unwrap(), value)
}

#[test]
fn a_random_life_goes_as_the_reference_model_says() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // One house for all lives: each has a session of its own, made anew under the same name.
    let world = runtime.block_on(testkit::World::new());
    let owner = runtime.block_on(async {
        let body = json!({"ttl": "300d"});
        world.post("/my/tokens", &body).locally().send().await.ok()["token"].as_str().unwrap().to_owned()
    });
    let shared = std::cell::RefCell::new(Some(Room { world, owner }));
    let mut runner =
        TestRunner::new(Config { cases: 100, max_shrink_iters: 300, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&steps(), |life| {
        let room = shared.borrow_mut().take().unwrap();
        let pair = Pair { room, model: Model::new() };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(live(pair, life))));
        match outcome {
            Ok(room) => {
                *shared.borrow_mut() = Some(room);
                Ok(())
            }
            Err(_) => {
                // The house went with the panic: the next, simpler life gets a new one.
                let world = runtime.block_on(testkit::World::new());
                let owner = runtime.block_on(world.owner());
                *shared.borrow_mut() = Some(Room { world, owner });
                Err(TestCaseError::fail("the house and the model disagree"))
            }
        }
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

async fn live(mut pair: Pair, life: Vec<Step>) -> Room {
    let config = json!({"max_value_tokens": MAX_VALUE, "max_store_tokens": MAX_STORE, "history_keep": KEEP});
    pair.room.world.session(&pair.room.owner, super::room::SESSION, config).await;
    for step in life {
        pair.take(step).await;
    }
    let path = format!("/sessions/{}", super::room::SESSION);
    pair.room.world.delete(&path).by(&pair.room.owner).send().await.ok();
    pair.room
}
