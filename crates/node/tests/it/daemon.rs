//! The loop of a node and its house, cut off from each other at every step. A crash of the node is the loss of everything but its
//! state directory and its files; what was done is counted by a file.

use super::houses::{Failing, NODE, PERSON, PROJECT, TestHouse, Word, call, now, sign};
use super::scenes::NOW_MS;
use domain::times::Timestamp;
use node::commands::Launcher;
use node::journal::{Effect, Journal, Step};
use node::{Daemon, Hands, Identity, Setup, Sha256, StateDirectory, Vetoes};
use protocol::tool_calls::ToolCall;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

/// What outlives a crash of the node.
struct Machine {
    folder: tempfile::TempDir,
}

/// A node that is up.
struct Running {
    runtime: Runtime,
    daemon: Arc<Daemon<TestHouse>>,
    house: TestHouse,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let machine = Self { folder };
        std::fs::write(machine.path("line"), "x\n").unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn state(&self) -> StateDirectory {
        StateDirectory::open(&self.folder.path().join("state")).unwrap()
    }

    fn start(&self, house: &TestHouse) -> Running {
        self.start_with(house, Vetoes::default(), now)
    }

    fn start_with(&self, house: &TestHouse, vetoes: Vetoes, clock: fn() -> Timestamp) -> Running {
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
    fn executions(&self) -> usize {
        std::fs::read_to_string(self.path("log")).unwrap_or_default().lines().count()
    }

    fn step(&self, id: &str) -> Option<Step> {
        Journal::open(&self.state(), NOW_MS).unwrap().call(id).map(|call| call.step)
    }

    /// As a node leaves it that was cut off after it had begun.
    fn has_begun(&self, call: &ToolCall, effect: Option<Effect>) {
        let mut journal = Journal::open(&self.state(), NOW_MS).unwrap();
        journal.intent(&call.id, call.attempt, &call.tool, NOW_MS).unwrap();
        journal.begun(&call.id, call.attempt, effect, NOW_MS).unwrap();
    }
}

impl Running {
    /// Looks at what there is, and waits until nothing is under way but what the house keeps waiting.
    #[track_caller]
    fn look(&self) {
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
    fn crash(self) {
        drop(self.runtime);
        assert_eq!(Arc::strong_count(&self.daemon), 1, "somebody survived");
    }
}

/// The same node, whose person at the machine says this to whatever they are asked; with how often they were.
fn asking(node: Running, yes: bool) -> (Running, Arc<AtomicUsize>) {
    let Running { runtime, daemon, house } = node;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let daemon = Arc::into_inner(daemon).unwrap().asking(move |question| {
        assert_eq!(question.ends_at(), Some(now().plus_seconds(300 + 600)));
        count.fetch_add(1, Ordering::SeqCst);
        yes
    });
    (Running { runtime, daemon: Arc::new(daemon), house }, asked)
}

fn append(id: &str) -> ToolCall {
    call(id, "tool_write_file", &json!({"path": "log", "content": "x\n", "mode": "append"}))
}

/// Adds a line to the log by a command.
fn command(id: &str) -> ToolCall {
    let args = ["if=line", "of=log", "oflag=append", "conv=notrunc", "status=none"];
    call(id, "tool_execute_command", &json!({"program": "dd", "args": args}))
}

fn accepted(call: ToolCall) -> ToolCall {
    ToolCall { status: "accepted".to_owned(), ..call }
}

const BEFORE_IT_IS_HEARD: [Failing; 2] = [Failing::Unreachable, Failing::Silent];
const AFTER_IT_WAS_HEARD: [Failing; 2] = [Failing::AnswerLost, Failing::HeardAndSilent];

/// A call that is cut off once, and the node goes on with it after a crash. Gives how often it was made before that.
#[track_caller]
fn cut_off(call: &ToolCall, word: Word, failing: Failing, ended_for_the_house: bool) -> usize {
    let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
    let row = format!("{} {word:?} {failing:?}", call.tool);
    house.fails(word, failing);
    let node = machine.start(&house);
    node.look();
    let before = machine.executions();
    node.crash();
    assert_eq!(house.status(&call.id) == "completed", ended_for_the_house, "{row}");
    house.is_well();
    for _ in 0..2 {
        let node = machine.start(&house);
        node.look();
        node.look();
        node.crash();
        assert_eq!(machine.executions(), 1, "{row}");
        let told = house.told_of(&call.id).unwrap();
        assert_eq!((told.status.as_str(), &told.result["success"]), ("completed", &json!(true)), "{row}: {told:?}");
        assert_eq!(house.status(&call.id), "completed", "{row}");
        assert!(house.asked().iter().all(|asked| *asked == (call.id.clone(), 1)), "{row}");
    }
    before
}

#[test]
fn a_call_that_is_cut_off_at_its_acceptance_is_made_once_after_that() {
    for call in [append("a"), command("c")] {
        for failing in BEFORE_IT_IS_HEARD.into_iter().chain(AFTER_IT_WAS_HEARD) {
            assert_eq!(cut_off(&call, Word::Accept, failing, false), 0, "nothing is begun without a yes");
        }
    }
}

#[test]
fn a_call_that_is_cut_off_before_its_end_is_heard_is_told_again_and_not_made_again() {
    for call in [append("a"), command("c")] {
        for failing in BEFORE_IT_IS_HEARD {
            assert_eq!(cut_off(&call, Word::Result, failing, false), 1);
        }
    }
}

#[test]
fn a_call_whose_end_was_heard_is_over_also_if_the_node_was_not_told_so() {
    for call in [append("a"), command("c")] {
        for failing in AFTER_IT_WAS_HEARD {
            assert_eq!(cut_off(&call, Word::Result, failing, true), 1);
        }
    }
}

#[test]
fn what_was_looked_at_beforehand_leaves_nothing_behind() {
    let proposed = ToolCall { status: "proposed".to_owned(), attempt: 0, digest: None, ..append("a") };
    for failing in [None, Some(Failing::Unreachable), Some(Failing::AnswerLost), Some(Failing::Silent)] {
        let (machine, house) = (Machine::new(), TestHouse::with(proposed.clone()));
        if let Some(failing) = failing {
            house.fails(Word::Preview, failing);
        }
        let node = machine.start(&house);
        node.look();
        node.crash();
        house.is_well();
        assert_eq!((machine.executions(), machine.step("a")), (0, None), "{failing:?}");
        let node = machine.start(&house);
        node.look();
        let preview = house.previews().pop().unwrap();
        assert_eq!((preview.exists, preview.path.as_deref()), (Some(false), Some("log")));
        let mut shown = ToolCall { preview: Some(preview), ..append("a") };
        sign(&mut shown);
        house.give(shown);
        node.look();
        node.crash();
        assert_eq!((machine.executions(), machine.step("a")), (1, Some(Step::Told)), "{failing:?}");
        assert_eq!(house.told_of("a").unwrap().status, "completed");
    }
}

/// A clock that a yes moves on by a minute.
static PASSED_MS: AtomicI64 = AtomicI64::new(0);

fn slow() -> Timestamp {
    now().plus_ms(PASSED_MS.load(Ordering::SeqCst))
}

#[test]
fn a_node_that_dies_after_the_yes_and_before_it_begins_makes_the_call_when_it_is_back() {
    for call in [append("a"), command("c")] {
        let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
        // A yes is to begin now: after a minute it is not begun on its strength.
        house.on_yes(|| {
            PASSED_MS.fetch_add(60_000, Ordering::SeqCst);
        });
        let node = machine.start_with(&house, Vetoes::default(), slow);
        node.look();
        node.crash();
        assert_eq!((machine.executions(), machine.step(&call.id)), (0, Some(Step::Intended)));
        assert_eq!(house.status(&call.id), "accepted");
        let node = machine.start_with(&house, Vetoes::default(), slow);
        node.look();
        node.crash();
        assert_eq!((machine.executions(), machine.step(&call.id)), (1, Some(Step::Told)));
        assert_eq!(house.told_of(&call.id).unwrap().status, "completed");
        assert_eq!(house.asked().len(), 1, "the yes still holds for the house");
    }
}

/// A call with what its node found beforehand, as it was shown and agreed to.
fn shown(machine: &Machine, id: &str, tool: &str, params: &Value) -> ToolCall {
    let proposed = ToolCall { status: "proposed".to_owned(), attempt: 0, digest: None, ..call(id, tool, params) };
    let house = TestHouse::with(proposed);
    let node = machine.start(&house);
    node.look();
    node.crash();
    let mut shown = ToolCall { preview: house.previews().pop(), ..call(id, tool, params) };
    assert_eq!(shown.preview.as_ref().unwrap().refusal, None);
    sign(&mut shown);
    shown
}

#[test]
fn what_was_turned_elsewhere_while_the_node_was_down_is_not_made_there() {
    let write = |path: &str, more: &[(&str, bool)]| {
        let mut params = json!({"path": path, "content": "x\n"});
        more.iter().for_each(|(name, value)| params[*name] = json!(value));
        ("tool_write_file", params)
    };
    let new = &[("create_dirs", true)];
    let rows = [
        ("a new file", write("out/x", &[]), "dirA/x"),
        ("a new file in a new directory", write("out/new/deep/x", new), "dirA/new/deep/x"),
        ("the same, oddly spelled", write("./out//new/./x", new), "dirA/new/x"),
        ("a file that is there in both", write("out/old", &[]), "dirA/old"),
        ("an edit", ("tool_edit_file", json!({"path": "out/old", "old": "same", "new": "x"})), "dirA/old"),
        ("a delete", ("tool_delete_file", json!({"path": "out/old"})), "dirA/old"),
    ];
    for (row, (tool, params), leads_to) in rows {
        for is_turned in [false, true] {
            let machine = Machine::new();
            for directory in ["dirA", ".git/hooks"] {
                std::fs::create_dir_all(machine.path(directory)).unwrap();
                std::fs::write(machine.path(directory).join("old"), "same").unwrap();
            }
            let link = machine.path("out");
            std::os::unix::fs::symlink("dirA", &link).unwrap();
            let call = shown(&machine, "a", tool, &params);
            assert_eq!(call.preview.as_ref().unwrap().path.as_deref(), Some(leads_to), "{row}");
            let house = TestHouse::with(call);
            house.fails(Word::Accept, Failing::HeardAndSilent);
            let node = machine.start(&house);
            node.look();
            node.crash();
            assert_eq!((house.status("a").as_str(), machine.step("a")), ("accepted", Some(Step::Intended)), "{row}");
            house.is_well();
            if is_turned {
                std::fs::remove_file(&link).unwrap();
                std::os::unix::fs::symlink(".git/hooks", &link).unwrap();
            }
            let node = machine.start(&house);
            node.look();
            node.crash();
            let told = house.told_of("a").unwrap();
            assert_eq!(told.status, if is_turned { "failed" } else { "completed" }, "{row}: {told:?}");
            assert_eq!(told.result["success"], json!(!is_turned), "{row}: {told:?}");
            let hooks: Vec<_> = std::fs::read_dir(machine.path(".git/hooks")).unwrap().flatten().collect();
            assert_eq!(hooks.len(), 1, "{row}: nothing came and nothing went");
            assert_eq!(std::fs::read_to_string(machine.path(".git/hooks/old")).unwrap(), "same", "{row}");
        }
    }
}

#[test]
fn a_command_whose_folder_is_another_after_a_crash_is_not_run() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path("here")).unwrap();
    let args = ["if=../line", "of=../log", "oflag=append", "conv=notrunc", "status=none"];
    let call = shown(&machine, "c", "tool_execute_command", &json!({"program": "dd", "args": args, "cwd": "here"}));
    let house = TestHouse::with(call);
    house.fails(Word::Accept, Failing::HeardAndSilent);
    let node = machine.start(&house);
    node.look();
    node.crash();
    house.is_well();
    std::fs::remove_dir(machine.path("here")).unwrap();
    let node = machine.start(&house);
    node.look();
    node.crash();
    assert_eq!((house.told_of("c").unwrap().status.as_str(), machine.executions()), ("failed", 0));
}

#[test]
fn somebody_at_the_machine_is_asked_before_each_beginning_and_only_about_what_would_be_done() {
    let not_for_us = || {
        let mut call = append("a");
        call.expires_at = Some(now().plus_seconds(1_000_000_000));
        sign(&mut call);
        call
    };
    let rows = [
        (append("a"), false, true, 1, "completed"),
        (append("a"), false, false, 1, "refused"),
        (append("a"), true, true, 1, "completed"),
        (append("a"), true, false, 1, "failed"),
        (not_for_us(), false, true, 0, "refused"),
        (not_for_us(), true, true, 0, "failed"),
    ];
    for (call, is_accepted, yes, asked, expected) in rows {
        let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
        if is_accepted {
            let mut journal = Journal::open(&machine.state(), NOW_MS).unwrap();
            journal.intent(&call.id, call.attempt, &call.tool, NOW_MS).unwrap();
            house.give(accepted(call));
        }
        let (node, count) = asking(machine.start(&house), yes);
        node.look();
        node.crash();
        let row = format!("{is_accepted} {yes} {expected}");
        assert_eq!(
            (house.told_of("a").unwrap().status.as_str(), count.load(Ordering::SeqCst)),
            (expected, asked),
            "{row}"
        );
        assert_eq!(machine.executions() == 1, expected == "completed", "{row}");
    }
}

fn line_added(before: &str) -> Option<Effect> {
    let base_sha256 = (!before.is_empty()).then(|| Sha256::of(before.as_bytes()));
    let new_sha256 = Some(Sha256::of(format!("{before}x\n").as_bytes()));
    Some(Effect { path: "log".to_owned(), base_sha256, new_sha256 })
}

#[test]
fn a_node_that_dies_after_it_began_tells_what_can_be_known_and_does_nothing_again() {
    let write = || append("a");
    let rows: [(&str, ToolCall, Option<Effect>, &str, &str); 5] = [
        ("a write that was done", write(), line_added(""), "x\n", "completed"),
        ("a write that was not done", write(), line_added("old\n"), "old\n", "failed"),
        ("a write, and somebody else wrote since", write(), line_added(""), "mine\n", "unknown"),
        ("a command", command("c"), None, "", "unknown"),
        ("a look", call("r", "tool_read_file", &json!({"path": "line"})), None, "", "completed"),
    ];
    for (row, call, effect, log, expected) in rows {
        // A house that was put back from a copy may believe that it was never accepted.
        for given in [accepted(call.clone()), call.clone()] {
            let (machine, house) = (Machine::new(), TestHouse::with(given));
            std::fs::write(machine.path("log"), log).unwrap();
            machine.has_begun(&call, effect.clone());
            for _ in 0..2 {
                let node = machine.start(&house);
                node.look();
                node.crash();
                let told = house.told_of(&call.id).unwrap();
                assert_eq!((told.status.as_str(), house.status(&call.id).as_str()), (expected, expected), "{row}");
                assert_eq!(house.told().len(), 1, "{row}");
                assert_eq!(std::fs::read_to_string(machine.path("log")).unwrap(), log, "{row}");
            }
            assert_eq!(machine.step(&call.id), Some(Step::Told), "{row}");
        }
    }
}

#[test]
fn a_restart_with_less_allowed_does_not_change_how_a_call_ended() {
    let read_only = Vetoes { read_only: true, ..Vetoes::default() };
    for (word, expected, executions) in [(Word::Result, "completed", 1), (Word::Accept, "failed", 0)] {
        let (machine, house) = (Machine::new(), TestHouse::with(append("a")));
        house.fails(word, Failing::Silent);
        if word == Word::Accept {
            house.fails(word, Failing::HeardAndSilent);
        }
        let node = machine.start(&house);
        node.look();
        node.crash();
        house.is_well();
        let node = machine.start_with(&house, read_only, now);
        node.look();
        node.crash();
        assert_eq!(house.told_of("a").unwrap().status, expected);
        assert_eq!(machine.executions(), executions);
    }
}

#[test]
fn what_the_house_says_no_to_is_not_made() {
    for call in [append("a"), command("c")] {
        let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
        house.fails(Word::Accept, Failing::Refuses("CALL_MOVED_ON"));
        let node = machine.start(&house);
        node.look();
        node.crash();
        assert_eq!((machine.executions(), house.told()), (0, Vec::new()));
        // Whatever it says after that: with this journal it is not made any more, and that is told as it is.
        house.is_well();
        for given in [call.clone(), accepted(call.clone())] {
            house.give(given);
            let node = machine.start(&house);
            node.look();
            node.crash();
            assert_eq!(machine.executions(), 0);
        }
        let told: Vec<String> = house.told().into_iter().map(|told| told.status).collect();
        assert_eq!(told, ["refused", "failed"]);
    }
}

#[test]
fn a_call_that_is_not_for_this_node_or_not_what_was_approved_is_refused_and_nobody_asked() {
    let changed = |change: fn(&mut ToolCall)| {
        let mut call = append("a");
        change(&mut call);
        call
    };
    let signed = |change: fn(&mut ToolCall)| {
        let mut call = changed(change);
        sign(&mut call);
        call
    };
    let rows = [
        (signed(|call| call.on_behalf_of = "usr_eve".into()), "FORBIDDEN"),
        (signed(|call| call.node = Some("nod_other".into())), "FORBIDDEN"),
        (signed(|call| call.project = "prj_other".into()), "FORBIDDEN"),
        (signed(|call| call.expires_at = Some(now().plus_ms(-3_600_000))), "EXPIRED"),
        (signed(|call| call.params = json!({"path": "../log", "content": "x"})), "INVALID_REQUEST"),
        (changed(|call| call.params["content"] = json!("y\n")), "DIGEST_MISMATCH"),
        (changed(|call| call.digest = Some("0".repeat(64))), "DIGEST_MISMATCH"),
        (changed(|call| call.digest = None), "DIGEST_MISMATCH"),
        (changed(|call| call.policy_epoch = None), "DIGEST_MISMATCH"),
        (changed(|call| call.agent_id = "agt_other".into()), "DIGEST_MISMATCH"),
        (changed(|call| call.tool = "tool_nobody_knows".into()), "TOOL_NOT_FOUND"),
    ];
    for (call, code) in rows {
        let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
        let node = machine.start(&house);
        node.look();
        let told = house.told_of("a").unwrap();
        assert_eq!((told.status.as_str(), told.code.as_deref()), ("refused", Some(code)), "{call:?}");
        assert_eq!(house.asked(), []);
        // As if somebody had said yes for it: what is not in the journal was not made here.
        house.give(accepted(ToolCall { id: "b".to_owned(), ..call }));
        node.look();
        assert_eq!(house.told_of("b").unwrap().status, "unknown");
        node.crash();
        assert_eq!(machine.executions(), 0);
    }
}

#[test]
fn another_attempt_is_made_only_if_none_before_it_was_begun() {
    for (word, expected) in [(Word::Accept, "completed"), (Word::Result, "unknown")] {
        let (machine, house) = (Machine::new(), TestHouse::with(append("a")));
        house.fails(word, Failing::Silent);
        let node = machine.start(&house);
        node.look();
        node.crash();
        house.is_well();
        house.give(ToolCall { attempt: 2, ..append("a") });
        let node = machine.start(&house);
        node.look();
        node.crash();
        assert_eq!(house.told_of("a").unwrap().status, expected, "{word:?}");
        assert_eq!(machine.executions(), 1, "{word:?}");
        // The older attempt again, from a house that was put back.
        house.give(append("a"));
        let node = machine.start(&house);
        node.look();
        node.crash();
        assert_eq!(machine.executions(), 1, "{word:?}");
    }
}

#[test]
fn a_house_that_was_put_back_is_told_how_the_call_ended() {
    for call in [append("a"), command("c")] {
        let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
        for given in [call.clone(), accepted(call.clone()), call.clone()] {
            house.give(given);
            let node = machine.start(&house);
            node.look();
            node.crash();
            assert_eq!(house.told_of(&call.id).unwrap().status, "completed");
            assert_eq!(house.status(&call.id), "completed");
        }
        assert_eq!((machine.executions(), house.told().len()), (1, 3));
    }
}

#[test]
fn an_old_list_and_a_call_given_twice_change_nothing() {
    for call in [append("a"), command("c")] {
        let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
        let node = machine.start(&house);
        house.lists_once(vec![call.clone(), call.clone(), accepted(call.clone())]);
        node.look();
        assert_eq!((machine.executions(), house.told().len(), house.asked().len()), (1, 1, 1));
        for old in [call.clone(), accepted(call.clone())] {
            house.lists_once(vec![old]);
            node.look();
            assert_eq!(house.told_of(&call.id).unwrap().status, "completed");
        }
        node.crash();
        assert_eq!(machine.executions(), 1);
    }
}

#[test]
fn ten_calls_at_once_are_made_once_each_and_told_truly() {
    let (machine, house) = (Machine::new(), TestHouse::default());
    let ids: Vec<String> = (0..10).map(|number| format!("call-{number}")).collect();
    for id in &ids {
        let params = json!({"path": "log", "content": format!("{id}\n"), "mode": "append"});
        house.give(call(id, "tool_write_file", &params));
    }
    let node = machine.start(&house);
    node.look();
    node.crash();
    let log = std::fs::read_to_string(machine.path("log")).unwrap();
    for id in &ids {
        // They change the same file: one may find it changed under its hands, and says so.
        let told = house.told_of(id).unwrap();
        let lines = log.lines().filter(|line| line == id).count();
        assert_eq!(told.status, "completed");
        assert_eq!(told.result["success"] == json!(true), lines == 1, "{told:?}\n{log}");
        assert!(lines <= 1, "{log}");
        assert_eq!(machine.step(id), Some(Step::Told));
    }
    assert_eq!((house.told().len(), house.asked().len()), (10, 10));
}

#[test]
fn a_house_that_cannot_be_reached_or_answers_nonsense_gets_nothing_done() {
    let (machine, house) = (Machine::new(), TestHouse::with(append("a")));
    let node = machine.start(&house);
    house.fails(Word::List, Failing::Unreachable);
    node.look();
    assert_eq!(machine.executions(), 0);
    house.is_well();
    for status in ["", "approved", "completed", "RUNNING", "dispatched\0"] {
        house.lists_once(vec![ToolCall { status: status.to_owned(), ..append("a") }]);
        house.give(ToolCall { status: "approved".to_owned(), ..append("a") });
        node.look();
        assert_eq!((machine.executions(), house.told()), (0, Vec::new()), "{status:?}");
    }
    for params in [Value::Null, json!([]), json!({"path": "log"}), json!({"path": 1, "content": "x"})] {
        let mut given = ToolCall { params, ..append("a") };
        sign(&mut given);
        house.give(given);
        node.look();
    }
    node.crash();
    assert_eq!(machine.executions(), 0);
}
