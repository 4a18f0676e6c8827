//! What a fault test saw, one file for each, for the table in docs/reliability.md. The numbers are those of this run.

use super::oracle::Tally;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// What the houses of this test binary stand on.
const ENGINE: &str = if cfg!(feature = "postgres-faults") { "postgresql" } else { "sqlite" };

pub(super) struct Record {
    name: &'static str,
    fault: &'static str,
    pub(super) rounds: u64,
    /// `None`: nothing was timed.
    slowest_ready: Option<Duration>,
    more: Map<String, Value>,
}

impl Record {
    pub(super) fn new(name: &'static str, fault: &'static str) -> Self {
        Self { name, fault, rounds: 0, slowest_ready: None, more: Map::new() }
    }

    /// One round is over, after which the server took this long to be ready.
    pub(super) fn round(&mut self, ready: Duration) {
        self.rounds += 1;
        self.ready(ready);
    }

    pub(super) fn ready(&mut self, ready: Duration) {
        self.slowest_ready = self.slowest_ready.max(Some(ready));
    }

    pub(super) fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.more.insert(name.to_owned(), value.into());
    }

    /// Writes the record if somebody wants it, then insists that nothing is wrong.
    pub(super) fn finish(self, tally: &Tally) {
        self.write(tally);
        tally.assert_clean();
    }

    pub(super) fn write(self, tally: &Tally) {
        let mut record = json!({
            "fault": self.fault,
            "engine": ENGINE,
            "rounds": self.rounds,
            "acknowledged": tally.acknowledged,
            "refused": tally.refused,
            "late": tally.late,
            "lost": tally.lost,
            "invented": tally.invented,
            "doubled": tally.doubled,
            "torn": tally.torn,
            "slowest_ready_ms": self.slowest_ready.map(|ready| u64::try_from(ready.as_millis()).unwrap()),
        });
        record.as_object_mut().unwrap().extend(self.more);
        self::record(self.name, &record);
    }
}

/// Writes one record into the folder that `LONGHOUSE_RECORDS` names; without it, nothing.
pub(super) fn record(name: &str, figures: &Value) {
    if let Some(folder) = std::env::var_os("LONGHOUSE_RECORDS").map(PathBuf::from) {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), format!("{figures:#}\n")).unwrap();
    }
}

/// How often something is done: a few times in every run, many times in a long one.
pub(super) fn times(ordinary: u64, soak: u64) -> u64 {
    if std::env::var_os("LONGHOUSE_SOAK").is_some() { soak } else { ordinary }
}
