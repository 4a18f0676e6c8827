//! What was shown and agreed to is what is done, also after the node was down in between, and whoever sits at the machine is asked
//! before each beginning.

use super::houses::{Failing, TestHouse, Word, call, now, sign};
use super::machines::{Machine, Running, accepted, append};
use node::journal::Step;
use protocol::tool_calls::{Preview, ToolCall};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The same node, whose person at the machine says this to whatever they are asked; with how often they were.
fn asking(node: Running, yes: bool) -> (Running, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let node = node.asking(move |question| {
        assert_eq!(question.ends_at(), Some(now().plus_seconds(300 + 600)));
        count.fetch_add(1, Ordering::SeqCst);
        yes
    });
    (node, asked)
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
    let nowhere = || call("a", "tool_edit_file", &json!({"path": "nowhere", "old": "x", "new": "y"}));
    let nobody = || call("a", "tool_execute_command", &json!({"program": "no-such-program", "args": []}));
    let another = || {
        let mut call = append("a");
        call.preview = Some(Preview { base_sha256: Some("0".repeat(64)), ..Preview::default() });
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
        (nowhere(), false, true, 0, "refused"),
        (nowhere(), true, true, 0, "failed"),
        (nobody(), false, true, 0, "refused"),
        (another(), false, true, 0, "refused"),
        (another(), true, true, 0, "failed"),
    ];
    for (call, is_accepted, yes, asked, expected) in rows {
        let (machine, house) = (Machine::new(), TestHouse::with(call.clone()));
        if is_accepted {
            machine.intends(&call);
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
