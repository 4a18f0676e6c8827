//! Faults of every kind, each done to the real binary under a mixed load. What was acknowledged must be there
//! afterwards, and nothing else: `oracle.rs` keeps the account.

mod damage;
mod disk_errors;
mod full_disk;
mod items;
mod kill;
mod migration;
mod pipes;
mod power_cut;
mod recovery;
mod size_limit;
mod strace;
mod sync_kill;
mod talk;
mod workspaces;

use super::binary::{Server, ok};
use super::door::Door;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A session to try in while the load goes on in others.
struct Probe {
    token: String,
}

impl Probe {
    fn new(data: &Path) -> Self {
        ok(data, &["session", "create", "probe"]);
        Self { token: ok(data, &["token", "create", "--user", "owner"]) }
    }

    /// The status and the error code.
    fn write(&self, server: &Server, value: &str) -> (u16, String) {
        let body = json!({"action": "write", "key": "probe", "value": value});
        let (status, answer) = Door::new(&server.url, &self.token).ask("probe", &body).expect("an answer");
        (status, answer["error"]["code"].as_str().unwrap_or("").to_owned())
    }

    fn read(&self, server: &Server) -> Option<String> {
        let body = json!({"action": "read", "key": "probe"});
        let (_, answer) = Door::new(&server.url, &self.token).ask("probe", &body).expect("an answer");
        answer["value"].as_str().map(str::to_owned)
    }
}
