//! A node and a house that says no, asks for what it must not have, was put back from a copy, or talks nonsense.

use super::houses::{Failing, TestHouse, Word, now, sign};
use super::machines::{Machine, accepted, append, command};
use protocol::tool_calls::{Preview, ToolCall};
use serde_json::{Value, json};

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

fn shown_to_start(word: &str) -> Preview {
    Preview { starts: [(word.to_owned(), "/usr/bin/cat".to_owned())].into(), ..Preview::default() }
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
        (changed(|call| call.preview = Some(shown_to_start("./box"))), "DIGEST_MISMATCH"),
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
