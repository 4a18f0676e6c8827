//! A machine with a node that can be cut off: a crash is the loss of everything but its state directory and its files.

use super::houses::{NODE, PERSON, PROJECT, TestHouse, call, now};
use super::scenes::NOW_MS;
use domain::times::Timestamp;
use node::commands::Launcher;
use node::journal::{Effect, Journal, Step};
use node::{Daemon, Hands, Identity, Question, Setup, StateDirectory, Vetoes};
use protocol::tool_calls::ToolCall;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// What outlives a crash of the node.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
}

/// A node that is up.
pub(crate) struct Running {
    runtime: Runtime,
    daemon: Arc<Daemon<TestHouse>>,
    house: TestHouse,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let machine = Self { folder };
        std::fs::write(machine.path("line"), "x\n").unwrap();
        machine
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn state(&self) -> StateDirectory {
        // A command that another test starts at this moment has a copy of the lock until it has become its program.
        for _ in 0..200 {
            match StateDirectory::open(&self.folder.path().join("state")) {
                Err(node::Error::Busy) => std::thread::sleep(Duration::from_millis(10)),
                opened => return opened.unwrap(),
            }
        }
        panic!("somebody has not let go of the state directory");
    }

    pub(crate) fn start(&self, house: &TestHouse) -> Running {
        self.start_with(house, Vetoes::default(), now)
    }

    pub(crate) fn start_with(&self, house: &TestHouse, vetoes: Vetoes, clock: fn() -> Timestamp) -> Running {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_longhouse-confined"));
        let launcher = Some(Launcher { program, arguments: Vec::new() });
        let identity = Identity { node: NODE.to_owned(), user: Some(PERSON.into()), project: Some(PROJECT.into()) };
        let (root, state) = (self.folder.path().join("work"), self.state());
        let setup = Setup { root: &root, state: &state, launcher, identity, vetoes, now: clock() };
        let hands = Hands::open(setup).unwrap();
        assert!(hands.commands().is_ok(), "this machine cannot confine commands, so nothing was shown");
        // Time passes only while nobody has anything to do.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let daemon = Arc::new(Daemon::new(house.clone(), hands, clock, |_| {}));
        Running { runtime, daemon, house: house.clone() }
    }

    /// How often something was done.
    pub(crate) fn executions(&self) -> usize {
        std::fs::read_to_string(self.path("log")).unwrap_or_default().lines().count()
    }

    pub(crate) fn step(&self, id: &str) -> Option<Step> {
        Journal::open(&self.state(), NOW_MS).unwrap().call(id).map(|call| call.step)
    }

    /// As a node leaves it that was cut off before it began.
    pub(crate) fn intends(&self, call: &ToolCall) {
        let mut journal = Journal::open(&self.state(), NOW_MS).unwrap();
        journal.intent(&call.id, call.attempt, &call.tool, NOW_MS).unwrap();
    }

    /// As a node leaves it that was cut off after it had begun.
    pub(crate) fn has_begun(&self, call: &ToolCall, effect: Option<Effect>) {
        self.intends(call);
        let mut journal = Journal::open(&self.state(), NOW_MS).unwrap();
        journal.begun(&call.id, call.attempt, effect, NOW_MS).unwrap();
    }
}

impl Running {
    /// The same with somebody who sits there.
    pub(crate) fn asking(self, answer: impl Fn(&Question) -> bool + Send + Sync + 'static) -> Self {
        let daemon = Arc::into_inner(self.daemon).unwrap().asking(answer);
        Self { daemon: Arc::new(daemon), ..self }
    }

    /// Looks at what there is, and waits until nothing is under way but what the house keeps waiting.
    #[track_caller]
    pub(crate) fn look(&self) {
        assert!(self.try_look(), "it is never done");
    }

    fn try_look(&self) -> bool {
        let metrics = self.runtime.metrics();
        let is_done = async {
            // A house that cannot be reached is no news to a test that made it so.
            let _ = tokio::join!(self.daemon.look(), self.daemon.look());
            while metrics.num_alive_tasks() > self.house.kept_waiting() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        self.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(600), is_done).await }).is_ok()
    }

    /// All that is in memory goes, with whatever waits for an answer.
    pub(crate) fn crash(self) {
        drop(self.runtime);
        assert_eq!(Arc::strong_count(&self.daemon), 1, "somebody survived");
    }
}

pub(crate) fn append(id: &str) -> ToolCall {
    call(id, "tool_write_file", &json!({"path": "log", "content": "x\n", "mode": "append"}))
}

/// Adds a line to the log by a command.
pub(crate) fn command(id: &str) -> ToolCall {
    let args = ["if=line", "of=log", "oflag=append", "conv=notrunc", "status=none"];
    call(id, "tool_execute_command", &json!({"program": "dd", "args": args}))
}

pub(crate) fn accepted(call: ToolCall) -> ToolCall {
    ToolCall { status: "accepted".to_owned(), ..call }
}
