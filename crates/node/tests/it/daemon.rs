//! The loop of a node and its house, cut off from each other at every step. What was done is counted by a file.

use super::houses::{Failing, TestHouse, Word, call, now, sign};
use super::machines::{Machine, accepted, append, command};
use domain::times::Timestamp;
use node::journal::{Effect, Step};
use node::{Sha256, Vetoes};
use protocol::tool_calls::ToolCall;
use serde_json::json;
use std::sync::atomic::{AtomicI64, Ordering};

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
fn a_node_that_stays_up_goes_on_when_its_house_is_back() {
    for call in [append("a"), command("c")] {
        for word in [Word::Accept, Word::Result] {
            for failing in [Failing::Unreachable, Failing::AnswerLost] {
                let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
                house.fails(word, failing);
                let node = machine.start(&house);
                node.look();
                house.fails(Word::List, Failing::Unreachable);
                node.look();
                house.is_well();
                node.look();
                node.crash();
                assert_eq!(machine.executions(), 1, "{word:?} {failing:?}");
                assert_eq!(house.told_of(&call.id).unwrap().status, "completed", "{word:?} {failing:?}");
                assert_eq!(house.status(&call.id), "completed", "{word:?} {failing:?}");
            }
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
fn what_was_ruled_out_when_the_node_was_started_is_said_before_anybody_is_asked() {
    let read_only = Vetoes { read_only: true, ..Vetoes::default() };
    let no_exec = Vetoes { no_exec: true, ..Vetoes::default() };
    for (vetoes, call, expected) in [
        (read_only, append("a"), Some("this node was started with --read-only")),
        (read_only, command("a"), Some("this node was started with --read-only")),
        (no_exec, command("a"), Some("this node was started with --no-exec")),
        (no_exec, append("a"), None),
        (Vetoes::default(), command("a"), None),
    ] {
        let proposed = ToolCall { status: "proposed".to_owned(), attempt: 0, digest: None, ..call };
        let (machine, house) = (Machine::new(), TestHouse::with(proposed));
        let node = machine.start_with(&house, vetoes, now);
        node.look();
        node.crash();
        let refusal = house.previews().pop().unwrap().refusal;
        let told = refusal.as_ref().map(|refusal| (refusal.code.as_str(), refusal.message.as_str()));
        assert_eq!(told, expected.map(|message| ("FORBIDDEN", message)), "{vetoes:?}");
    }
}

#[test]
fn what_nobody_can_approve_is_not_run_under_another_name_behind_a_wrapper() {
    for link in ["mount", "systemctl"].map(|program| format!("/usr/bin/{program}")) {
        let machine = Machine::new();
        std::os::unix::fs::symlink(&link, machine.path("harmless")).unwrap();
        if !machine.path("harmless").exists() {
            continue;
        }
        let arguments = json!({"program": "env", "args": ["./harmless", "--help"]});
        let house = TestHouse::with(call("a", "tool_execute_command", &arguments));
        let node = machine.start(&house);
        node.look();
        node.crash();
        let told = house.told_of("a").unwrap();
        assert_eq!((told.status.as_str(), told.code.as_deref()), ("refused", Some("COMMAND_DENIED")), "{link}");
    }
}

#[test]
fn a_command_that_could_hide_a_program_among_too_many_is_refused_before_anybody_is_asked_and_afterwards() {
    let machine = Machine::new();
    let mut args = vec![".".to_owned()];
    for number in 0..65 {
        std::fs::copy("/usr/bin/true", machine.path(&format!("p{number}"))).unwrap();
        args.extend(["-exec".to_owned(), format!("./p{number}"), ";".to_owned()]);
    }
    let dispatched = call("c", "tool_execute_command", &json!({"program": "find", "args": args}));
    let proposed = ToolCall { status: "proposed".to_owned(), attempt: 0, digest: None, ..dispatched.clone() };
    let house = TestHouse::with(proposed);
    let node = machine.start(&house);
    node.look();
    let refusal = house.previews().pop().unwrap().refusal.unwrap();
    assert_eq!(refusal.code, "COMMAND_DENIED", "{}", refusal.message);
    // A house that does not care.
    house.give(dispatched);
    node.look();
    node.crash();
    let told = house.told_of("c").unwrap();
    assert_eq!((told.status.as_str(), told.code.as_deref()), ("refused", Some("COMMAND_DENIED")));
}
