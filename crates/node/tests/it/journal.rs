//! The journal: what was acknowledged is there again, and nothing is guessed.

use super::scenes::{NOW_MS, Scene, mode, writing};
use node::journal::{AfterCrash, Effect, Journal, Step};
use node::{Error, Sha256, StateDirectory};
use serde_json::json;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn effect(path: &str, base: Option<&str>, new: Option<&str>) -> Option<Effect> {
    let sha256 = |text: &str| Sha256::of(text.as_bytes());
    Some(Effect { path: path.to_owned(), base_sha256: base.map(sha256), new_sha256: new.map(sha256) })
}

/// Twelve records of three calls.
fn filled(state: &StateDirectory) -> Journal {
    let mut journal = Journal::open(state, NOW_MS).unwrap();
    for call in ["call_a", "call_b", "call_c"] {
        journal.intent(call, 1, "tool_write_file", NOW_MS).unwrap();
        journal.begun(call, 1, effect("file\nü", None, Some("x")), NOW_MS).unwrap();
        journal.ended(call, 1, Some(json!({"success": true, "text": "tab\tand\nline"})), NOW_MS).unwrap();
        journal.told(call, 1, NOW_MS).unwrap();
    }
    journal
}

#[test]
fn every_step_is_there_again_after_reopening() {
    let scene = Scene::new();
    drop(filled(&scene.state));
    let mut journal = Journal::open(&scene.state, NOW_MS).unwrap();
    journal.intent("call_d", 2, "tool_execute_command", NOW_MS).unwrap();
    drop(journal);
    let journal = Journal::open(&scene.state, NOW_MS).unwrap();
    let steps: Vec<_> = journal.calls().map(|call| (call.id.as_str(), call.attempt, call.step)).collect();
    assert_eq!(
        steps,
        [
            ("call_a", 1, Step::Told),
            ("call_b", 1, Step::Told),
            ("call_c", 1, Step::Told),
            ("call_d", 2, Step::Intended)
        ]
    );
    let call = journal.call("call_b").unwrap();
    assert_eq!(call.effect, effect("file\nü", None, Some("x")));
    assert_eq!(call.result, Some(json!({"success": true, "text": "tab\tand\nline"})));
    assert_eq!(mode(scene.state.path()), 0o700);
    assert_eq!(mode(&scene.state.path().join("journal")), 0o600);
}

#[test]
fn a_journal_cut_at_any_byte_gives_what_was_whole_and_goes_on() {
    let scene = Scene::new();
    drop(filled(&scene.state));
    let path = scene.state.path().join("journal");
    let whole = std::fs::read(&path).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in 0..=whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let opened = Journal::open(&scene.state, NOW_MS);
        if length < header {
            // The first line comes by a rename: without it this is not a journal that was cut by a crash.
            assert!(matches!(opened, Err(Error::JournalDamaged { line: 1 })), "cut at {length}");
            continue;
        }
        let records = whole[header..length].iter().filter(|byte| **byte == b'\n').count();
        let mut journal = opened.unwrap();
        let seen: usize = journal.calls().map(|call| call.step as usize + 1).sum();
        assert_eq!(seen, records, "cut at {length}");
        journal.intent("call_z", 1, "tool_read_file", NOW_MS).unwrap();
        drop(journal);
        let again = Journal::open(&scene.state, NOW_MS).unwrap();
        assert_eq!(again.call("call_z").unwrap().step, Step::Intended, "cut at {length}");
    }
}

#[test]
fn a_byte_changed_anywhere_is_damage_and_never_a_wrong_record() {
    let scene = Scene::new();
    drop(filled(&scene.state));
    let path = scene.state.path().join("journal");
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        match Journal::open(&scene.state, NOW_MS) {
            Err(Error::JournalDamaged { .. }) => {}
            // Without its line feed the last record looks torn, and is dropped.
            Ok(journal) => {
                assert_eq!(at, whole.len() - 1);
                assert_eq!(journal.call("call_c").unwrap().step, Step::Ended);
            }
            Err(error) => panic!("{error} at {at}"),
        }
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let without = |number: usize| [&lines[..number], &lines[number + 1..]].concat().concat();
    for number in 0..lines.len() - 1 {
        std::fs::write(&path, without(number)).unwrap();
        assert!(matches!(Journal::open(&scene.state, NOW_MS), Err(Error::JournalDamaged { .. })), "line {number} lost");
    }
    // A power failure may leave room that was never written.
    for tail in [&b"\0\0\0\0"[..], b"{\"step\":\"tol\0\0\0\0\0\0", b"\0\0\0\0abc\n"] {
        std::fs::write(&path, [&whole[..], tail].concat()).unwrap();
        assert_eq!(Journal::open(&scene.state, NOW_MS).unwrap().calls().count(), 3);
    }
}

#[test]
fn no_call_begins_twice() {
    let scene = Scene::new();
    let mut journal = Journal::open(&scene.state, NOW_MS).unwrap();
    assert!(journal.begun("call", 1, None, NOW_MS).is_err(), "without an intent");
    journal.intent("call", 1, "tool_execute_command", NOW_MS).unwrap();
    journal.intent("call", 1, "tool_execute_command", NOW_MS).unwrap();
    journal.intent("call", 2, "tool_execute_command", NOW_MS).unwrap();
    assert!(journal.intent("call", 1, "tool_execute_command", NOW_MS).is_err(), "an older attempt");
    assert!(journal.begun("call", 1, None, NOW_MS).is_err(), "an older attempt");
    journal.begun("call", 2, None, NOW_MS).unwrap();
    drop(journal);
    let mut journal = Journal::open(&scene.state, NOW_MS).unwrap();
    assert_eq!(journal.begun("call", 2, None, NOW_MS).unwrap_err().code(), "OUT_OF_ORDER");
    assert!(journal.intent("call", 3, "tool_execute_command", NOW_MS).is_err(), "a new attempt of what began");
    journal.ended("call", 2, None, NOW_MS).unwrap();
    assert!(journal.ended("call", 2, None, NOW_MS).is_err());
    journal.told("call", 2, NOW_MS).unwrap();
    assert!(journal.told("call", 2, NOW_MS).is_err());
}

#[test]
fn what_was_told_long_ago_is_dropped_and_the_rest_stays() {
    let scene = Scene::new();
    let mut journal = filled(&scene.state);
    journal.intent("call_d", 1, "tool_write_file", NOW_MS).unwrap();
    journal.begun("call_d", 1, None, NOW_MS).unwrap();
    journal.intent("call_e", 1, "tool_write_file", NOW_MS + DAY_MS).unwrap();
    journal.told("call_e", 1, NOW_MS + DAY_MS).unwrap();
    drop(journal);
    let path = scene.state.path().join("journal");
    let before = std::fs::metadata(&path).unwrap().len();
    for _ in 0..2 {
        let journal = Journal::open(&scene.state, NOW_MS + 7 * DAY_MS).unwrap();
        let calls: Vec<_> = journal.calls().map(|call| (call.id.as_str(), call.step)).collect();
        assert_eq!(calls, [("call_d", Step::Begun), ("call_e", Step::Told)]);
    }
    assert!(std::fs::metadata(&path).unwrap().len() < before);
    assert_eq!(mode(&path), 0o600);
    let mut journal = Journal::open(&scene.state, NOW_MS + 7 * DAY_MS).unwrap();
    journal.ended("call_d", 1, None, NOW_MS + 7 * DAY_MS).unwrap();
    drop(journal);
    assert_eq!(Journal::open(&scene.state, NOW_MS + 7 * DAY_MS).unwrap().call("call_d").unwrap().step, Step::Ended);
}

#[test]
fn one_process_at_a_time_has_the_state_directory() {
    let scene = Scene::new();
    assert_eq!(StateDirectory::open(scene.state.path()).unwrap_err().code(), "BUSY");
    let journal = Journal::open(&scene.state, NOW_MS).unwrap();
    let path = scene.state.path().to_owned();
    let Scene { state, folder: _folder, .. } = scene;
    drop(state);
    assert_eq!(StateDirectory::open(&path).unwrap_err().code(), "BUSY", "the journal holds it too");
    drop(journal);
    StateDirectory::open(&path).unwrap();
}

#[test]
fn after_a_crash_the_hashes_tell_done_from_not_done() {
    let scene = Scene::new();
    let mut journal = Journal::open(&scene.state, NOW_MS).unwrap();
    let mut state_of = |call: &str, effect: Option<Effect>| {
        journal.intent(call, 1, "tool", NOW_MS).unwrap();
        let before = journal.call(call).unwrap().after_crash(&scene.files);
        assert_eq!(before, AfterCrash::NotBegun);
        journal.begun(call, 1, effect, NOW_MS).unwrap();
        journal.call(call).unwrap().after_crash(&scene.files)
    };
    scene.put("file", "now");
    assert_eq!(state_of("a", effect("file", Some("now"), Some("new"))), AfterCrash::NotDone);
    assert_eq!(state_of("b", effect("file", Some("old"), Some("now"))), AfterCrash::Done);
    assert_eq!(state_of("c", effect("file", Some("old"), Some("new"))), AfterCrash::Unknown);
    assert_eq!(state_of("d", effect("gone", Some("old"), None)), AfterCrash::Done);
    assert_eq!(state_of("e", effect("gone", None, Some("new"))), AfterCrash::NotDone);
    assert_eq!(state_of("f", effect("no/such/place", None, Some("new"))), AfterCrash::NotDone);
    assert_eq!(state_of("g", effect("../outside/file", None, Some("new"))), AfterCrash::Unknown);
    assert_eq!(state_of("h", None), AfterCrash::Unknown);
    let change = scene.files.prepare_write(&writing("file", "next")).unwrap();
    let announced =
        Effect { path: change.path().to_owned(), base_sha256: change.base_sha256(), new_sha256: change.new_sha256() };
    assert_eq!(state_of("i", Some(announced)), AfterCrash::NotDone);
    change.commit(NOW_MS).unwrap();
    assert_eq!(journal.call("i").unwrap().after_crash(&scene.files), AfterCrash::Done);
}
