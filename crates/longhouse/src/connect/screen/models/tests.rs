//! What the screen does, as stories and tables.

use super::super::cards::{Row, Tint};
use super::*;
use domain::tool_calls::Risk;
use node::Outcome;
use protocol::tool_calls::{Preview, ToolCall};
use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use serde_json::{Value, json};

pub(in crate::connect) const NOW: i64 = 1_771_597_800_000;

pub(in super::super) fn approval(id: &str, project: &str, level: &str) -> Value {
    json!({
        "id": id, "project": project, "workspace": "w", "tool_call_id": format!("call_{id}"), "tool": "tool_write_file",
        "params": {"path": "notes.md", "content": "hello\n"}, "shown": "", "digest": format!("digest of {id}"),
        "risk": {"level": level, "reasons": ["writes a file"]}, "agent": "agent_coder", "agent_id": "agt_1",
        "on_behalf_of": "usr_owner", "session": "s", "node": "nod_1", "requested_at": "2026-02-20T14:30:00Z",
        "expires_at": "2026-02-20T14:35:00Z", "preview": {"diff": "@@ -0,0 +1 @@\n+hello\n"}, "previewed": true,
        "status": "pending", "call_status": "waiting_approval",
    })
}

pub(in super::super) fn call(id: &str) -> ToolCall {
    let call = json!({
        "id": id, "tool": "tool_write_file", "params": {"path": "notes.md", "content": "hello\n"}, "status": "dispatched",
        "consumed": false, "attempt": 1, "project": "prj_1", "agent": "agent_coder", "agent_id": "agt_1",
        "on_behalf_of": "usr_owner", "created_at": "2026-02-20T14:30:00Z",
    });
    serde_json::from_value(call).unwrap()
}

pub(in super::super) fn news(news: News) -> Event {
    Event::Notice(Notice::News(Box::new(news)))
}

fn asked(approvals: &[Value]) -> Event {
    Event::Approvals(approvals.iter().map(|one| serde_json::from_value(one.clone()).unwrap()).collect())
}

/// What the node asks about a call whose decision holds for five minutes.
pub(in crate::connect) fn asked_here() -> Question {
    let call = ToolCall { expires_at: Some(Timestamp::from_ms(NOW + 300_000)), ..call("call_1") };
    let found = Preview { diff: Some("+a\n".to_owned()), ..Preview::default() };
    Question { call, found, risk: Risk::Medium, reasons: vec!["writes a file".to_owned()] }
}

pub(in super::super) fn question(number: u64, risk: Risk, diff: &str) -> Event {
    let found = Preview { diff: Some(diff.to_owned()), ..Preview::default() };
    Event::Asked { number, question: Box::new(Question { found, risk, ..asked_here() }) }
}

/// A screen of a usual size with these approvals, the newest first.
pub(in super::super) fn model(approvals: &[Value]) -> Model {
    let (node, name) = ("nod_1".to_owned(), "desk".to_owned());
    let about = About { project: Some("prj_1".to_owned()), node, name, ..About::default() };
    let mut model = Model::new(about, Timestamp::from_ms(NOW));
    model.update(Event::Size(80, 24));
    model.update(asked(approvals));
    model
}

/// The same, and its person has chosen the first.
pub(in super::super) fn chosen(approvals: &[Value]) -> Model {
    let mut model = model(approvals);
    press(&mut model, "j");
    model
}

fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let code = |key| match key {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\u{1b}' => KeyCode::Esc,
        '\u{8}' => KeyCode::Backspace,
        other => KeyCode::Char(other),
    };
    keys.chars().flat_map(|key| model.update(Event::Key(KeyEvent::new(code(key), KeyModifiers::NONE)))).collect()
}

fn approve(id: &str) -> Effect {
    Effect::Approve { id: id.to_owned(), project: "prj_1".to_owned(), digest: format!("digest of {id}") }
}

fn reject(id: &str, reason: Option<&str>) -> Effect {
    Effect::Reject { id: id.to_owned(), project: "prj_1".to_owned(), reason: reason.map(str::to_owned) }
}

#[test]
fn each_key_does_what_the_help_says() {
    let medium = || chosen(&[approval("a", "prj_1", "MEDIUM")]);
    let high = || chosen(&[approval("a", "prj_1", "HIGH")]);
    let unknown = || chosen(&[approval("a", "prj_1", "SOMETHING")]);
    let none: fn() -> Model = || model(&[]);
    let fresh = || model(&[approval("b", "prj_1", "MEDIUM"), approval("a", "prj_1", "MEDIUM")]);
    let table: Vec<(&str, Model, &str, Vec<Effect>)> = vec![
        ("yes to MEDIUM", medium(), "y", vec![approve("a")]),
        ("a yes is sent once", medium(), "yyy", vec![approve("a")]),
        ("one yes is not enough for HIGH", high(), "y", vec![]),
        ("two are", high(), "yy", vec![approve("a")]),
        ("with a key in between they are not two", high(), "yjy", vec![]),
        ("a look in between neither", high(), "y\ny", vec![]),
        ("what is not known is HIGH", unknown(), "y", vec![]),
        ("in its card, too", medium(), "\ny", vec![approve("a")]),
        ("no, without a reason", medium(), "n\n", vec![reject("a", None)]),
        ("no, and why", medium(), "nnot you\u{8}w\n", vec![reject("a", Some("not yow"))]),
        ("no, or rather not", medium(), "nyes\u{1b}", vec![]),
        ("blanks are no reason", medium(), "n  \n", vec![reject("a", None)]),
        ("a yes in a reason is none", high(), "nyy", vec![]),
        ("nothing to answer", none(), "yn\nu", vec![]),
        ("the other list has nothing to answer", medium(), "\tyn", vec![]),
        ("nothing is chosen by itself", fresh(), "yyy", vec![]),
        ("an arrow chooses", fresh(), "jy", vec![approve("a")]),
        ("Enter chooses, and only that", fresh(), "\ny", vec![approve("a")]),
        ("Tab there and back chooses", fresh(), "\t\ty", vec![approve("a")]),
        ("help does not", fresh(), "??y", vec![]),
        ("help", medium(), "?y", vec![]),
        ("end", medium(), "q", vec![Effect::Quit]),
        ("end from the help", medium(), "?q", vec![Effect::Quit]),
        ("a q in a reason is a letter", medium(), "nq\n", vec![reject("a", Some("q"))]),
    ];
    for (what, mut model, keys, expected) in table {
        assert_eq!(press(&mut model, keys), expected, "{what}");
    }
}

#[test]
fn control_c_ends_wherever_it_is_pressed_and_other_chords_do_nothing() {
    for before in ["", "\n", "n", "?", "y"] {
        let mut model = chosen(&[approval("a", "prj_1", "HIGH")]);
        press(&mut model, before);
        let chord = |key, with| Event::Key(KeyEvent::new(KeyCode::Char(key), with));
        assert_eq!(model.update(chord('y', KeyModifiers::CONTROL)), [], "{before:?}");
        assert_eq!(model.update(chord('y', KeyModifiers::ALT)), [], "{before:?}");
        assert_eq!(model.update(chord('c', KeyModifiers::CONTROL)), [Effect::Quit], "{before:?}");
    }
}

#[test]
fn pasted_letters_are_no_keys() {
    let mut model = chosen(&[approval("a", "prj_1", "MEDIUM")]);
    assert_eq!(model.update(Event::Paste("yyy\nq".to_owned())), []);
    press(&mut model, "n");
    model.update(Event::Paste(format!("be\u{1b}[2Jcause{}", "x".repeat(10_000))));
    let effects = press(&mut model, "\n");
    let [Effect::Reject { reason: Some(reason), .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(reason.starts_with("be[2Jcausexx") && reason.chars().count() == 400, "{reason}");
}

#[test]
fn a_yes_never_falls_on_what_came_into_the_place_of_what_is_gone() {
    let [a, b, c] = ["a", "b", "c"].map(|id| approval(id, "prj_1", "MEDIUM"));
    let mut model = chosen(&[b.clone(), a]);
    assert_eq!(model.selected_waiting().unwrap().id, "a", "the oldest is the first");
    assert_eq!(model.update(asked(&[c.clone(), b.clone()])), [Effect::LookUp { id: "a".to_owned() }]);
    assert_eq!(press(&mut model, "y"), [], "nothing is chosen any more");
    assert_eq!(press(&mut model, "jy"), [approve("b")]);
    model.update(Event::Answered { id: "b".to_owned(), outcome: Ok("approved".to_owned()) });
    assert_eq!(press(&mut model, "y"), []);
    model.update(asked(&[c, b]));
    assert_eq!(model.waiting.len(), 1, "a list from before does not bring it back");
    let d = approval("d", "prj_1", "MEDIUM");
    model.update(asked(&[d]));
    assert_eq!(press(&mut model, "y"), [], "all at once is no different");
}

#[test]
fn a_yes_on_its_way_meets_nobody_after_the_list_was_empty() {
    let [a, b] = ["a", "b"].map(|id| approval(id, "prj_1", "MEDIUM"));
    let answered = |outcome| Event::Answered { id: "a".to_owned(), outcome };
    let over = || Err(Failed { is_over: true, message: "it is rejected".to_owned() });
    let emptied: [(&str, Vec<Event>); 4] = [
        ("somebody else rejects it", vec![asked(&[])]),
        ("its answer was taken", vec![answered(Ok("approved".to_owned()))]),
        ("its answer came too late", vec![answered(over())]),
        ("it is asked about anew, with other bytes", vec![]),
    ];
    for (what, events) in emptied {
        let mut model = chosen(std::slice::from_ref(&a));
        let is_same_id = events.is_empty();
        events.into_iter().for_each(|event| drop(model.update(event)));
        let mut next = b.clone();
        if is_same_id {
            (next["id"], next["digest"]) = (json!("a"), json!("of other bytes"));
        }
        model.update(asked(std::slice::from_ref(&next)));
        assert_eq!(press(&mut model, "yyy"), [], "{what}");
        assert_eq!(press(&mut model, "jy").len(), 1, "{what}");
    }
}

#[test]
fn a_held_yes_answers_one_question_of_the_machine_and_not_the_next() {
    let mut model = model(&[]);
    model.update(question(1, Risk::Medium, "+a\n"));
    assert_eq!(press(&mut model, "y"), [], "not even the first");
    assert_eq!(press(&mut model, "jy"), [Effect::Answer { number: 1, yes: true }]);
    for number in 2..5 {
        model.update(question(number, Risk::Medium, "+a\n"));
        assert_eq!(press(&mut model, "yy"), [], "{number}");
    }
}

#[test]
fn bytes_that_change_under_a_chosen_id_are_chosen_anew() {
    let [mut a, b] = ["a", "b"].map(|id| approval(id, "prj_1", "MEDIUM"));
    let mut model = chosen(&[b.clone(), a.clone()]);
    a["digest"] = json!("of other bytes");
    model.update(asked(&[b, a]));
    assert_eq!(press(&mut model, "y"), []);
}

#[test]
fn a_house_cannot_have_its_approval_become_a_question_of_the_machine() {
    let mut model = model(&[approval("question-1", "prj_1", "MEDIUM")]);
    press(&mut model, "j");
    model.update(question(1, Risk::Medium, "+a\n"));
    assert_eq!(press(&mut model, "y"), [], "what was chosen is another thing");
    assert_eq!(model.waiting.len(), 1);
}

#[test]
fn a_question_of_the_machine_waits_as_long_as_an_answer_is_of_use_and_then_leaves_and_says_why() {
    for (has_moved_on, why) in [(false, "nobody answered in time"), (true, "the house is done with it")] {
        let mut model = model(&[approval("a", "prj_1", "MEDIUM")]);
        model.update(question(1, Risk::Medium, "+a\n"));
        press(&mut model, "j");
        // Ten minutes after the decision, as the node lets it be made.
        assert_eq!(model.selected_waiting().unwrap().expires_at, Some(Timestamp::from_ms(NOW + 900_000)));
        model.update(Event::Unanswered { number: 2, has_moved_on });
        assert_eq!(model.waiting.len(), 2, "another question is no matter of it");
        model.update(Event::Unanswered { number: 1, has_moved_on });
        assert_eq!(model.waiting.iter().map(|waiting| waiting.id.as_str()).collect::<Vec<_>>(), ["a"]);
        assert!(model.notes[0].starts_with(why), "{:?}", model.notes);
        assert_eq!(press(&mut model, "y"), [], "and nothing is chosen in its place");
    }
}

#[test]
fn a_second_yes_is_for_the_same_bytes_as_the_first() {
    let mut changed = approval("a", "prj_1", "HIGH");
    let mut model = chosen(std::slice::from_ref(&changed));
    press(&mut model, "y");
    changed["digest"] = json!("of something else");
    model.update(asked(std::slice::from_ref(&changed)));
    assert_eq!(press(&mut model, "y"), []);
}

#[test]
fn without_room_for_a_card_the_first_yes_shows_it() {
    let mut model = chosen(&[approval("a", "prj_1", "MEDIUM")]);
    model.update(Event::Size(80, 10));
    assert_eq!((press(&mut model, "y"), &model.view), (vec![], &View::Card));
    assert_eq!(press(&mut model, "y"), [approve("a")]);
}

#[test]
fn what_was_not_shown_whole_is_not_approved() {
    let with = |changes: &[(&str, Value)]| {
        let mut asked = approval("a", "prj_1", "MEDIUM");
        changes.iter().for_each(|(name, value)| asked[*name] = value.clone());
        chosen(&[asked])
    };
    let mut cut = with(&[("preview", json!({"diff": "+a\n", "diff_cut": true}))]);
    assert_eq!(press(&mut cut, "yy"), []);
    assert!(cut.notes[0].contains("the diff was cut"), "{:?}", cut.notes);
    assert_eq!(press(&mut cut, "n\n"), [reject("a", None)], "a no is");
    let mut long = with(&[("preview", json!({"no_diff": "too long to be compared", "diff_cut": true}))]);
    assert_eq!(press(&mut long, "yy"), []);
    let mut brief = with(&[("cut", json!(true))]);
    assert_eq!(press(&mut brief, "yy"), [], "a list had only the beginning of it");
    for unseen in [json!({"no_diff": "not text"}), Value::Null] {
        let mut model = with(&[("preview", unseen.clone())]);
        assert_eq!((press(&mut model, "y"), press(&mut model, "y")), (vec![], vec![approve("a")]), "{unseen}");
    }
    let mut late = with(&[]);
    late.update(Event::Clock(Timestamp::from_ms(NOW + 300_000)));
    assert_eq!(press(&mut late, "y"), []);
}

#[test]
fn what_was_decided_elsewhere_goes_with_a_note_of_who_did() {
    let mut asked_before = approval("a", "prj_1", "MEDIUM");
    let mut model = chosen(std::slice::from_ref(&asked_before));
    press(&mut model, "\n");
    assert_eq!(model.view, View::Card);
    assert_eq!(model.update(asked(&[])), [Effect::LookUp { id: "a".to_owned() }]);
    assert_eq!((model.waiting.len(), &model.view), (0, &View::Lists));
    asked_before["status"] = json!("rejected");
    asked_before["decided_by"] = json!("usr_\u{1b}eve");
    model.update(Event::Resolved(Box::new(serde_json::from_value(asked_before).unwrap())));
    assert_eq!(model.notes[0], "tool_write_file notes.md is rejected by usr_\\u{001B}eve");
}

#[test]
fn an_answer_that_is_not_taken_is_told_and_can_be_given_again() {
    let outcome = |is_over| Err(Failed { is_over, message: "it is approved by usr_eve".to_owned() });
    for (is_over, again) in [(false, vec![approve("a")]), (true, vec![])] {
        let mut model = chosen(&[approval("a", "prj_1", "MEDIUM")]);
        press(&mut model, "y");
        model.update(Event::Answered { id: "a".to_owned(), outcome: outcome(is_over) });
        assert!(model.notes[0].contains("it is approved by usr_eve"), "{:?}", model.notes);
        assert_eq!(press(&mut model, "y"), again);
    }
}

#[test]
fn this_project_comes_before_others_and_this_machine_before_both() {
    let mut model = chosen(&[
        approval("d", "prj_1", "HIGH"),
        approval("c", "prj_2", "HIGH"),
        approval("b", "prj_1", "HIGH"),
        approval("a", "prj_2", "HIGH"),
    ]);
    model.update(question(7, Risk::Medium, "+a\n"));
    let order: Vec<&str> = model.waiting.iter().map(|waiting| waiting.id.as_str()).collect();
    assert_eq!(order, ["question-7", "b", "d", "a", "c"]);
    assert_eq!(model.selected_waiting().unwrap().id, "b", "what was chosen stays chosen");
}

#[test]
fn what_the_machine_asks_is_answered_here_by_its_own_judgement() {
    let answer = |yes| vec![Effect::Answer { number: 1, yes }];
    for (risk, diff, keys, expected) in [
        (Risk::Medium, "+a\n", "y", answer(true)),
        (Risk::Medium, "+a\n", "n", answer(false)),
        (Risk::High, "+a\n", "y", vec![]),
        (Risk::High, "+a\n", "yy", answer(true)),
    ] {
        let mut model = model(&[]);
        model.update(question(1, risk, diff));
        press(&mut model, "j");
        assert_eq!(press(&mut model, keys), expected, "{risk:?} {keys}");
    }
    let mut model = model(&[]);
    model.update(question(1, Risk::Medium, "+a\n"));
    model.update(asked(&[]));
    assert_eq!(model.waiting.len(), 1, "the house does not take it away");
}

#[test]
fn calls_are_shown_as_they_come_and_one_of_them_can_be_undone() {
    let mut model = model(&[]);
    let outcome = Outcome { status: "completed", result: serde_json::Map::new(), reason: None };
    model.update(news(News::Began(call("call_1"))));
    assert_eq!(model.made[0].state, "running");
    model.update(news(News::Began(call("call_2"))));
    model.update(news(News::Ended { call: call("call_1"), outcome }));
    let states: Vec<_> = model.made.iter().map(|made| (made.id.as_str(), made.state.as_str())).collect();
    assert_eq!(states, [("call_2", "running"), ("call_1", "completed")]);
    assert_eq!(press(&mut model, "u"), [], "of the list that is looked at");
    assert_eq!(press(&mut model, "\tu"), [Effect::Undo { call: "call_2".to_owned() }]);
    assert_eq!(press(&mut model, "ju"), [Effect::Undo { call: "call_1".to_owned() }]);
    for number in 0..1_000 {
        model.update(news(News::Began(call(&format!("call_x{number}")))));
    }
    assert_eq!(model.made.len(), MADE_MOST);
    assert_eq!(press(&mut model, "u"), [], "it is not in the list any more");
}

#[test]
fn the_state_of_the_connection_is_known() {
    let mut model = model(&[]);
    model.update(Event::Notice(Notice::Connected));
    assert_eq!(model.link, Link::Connected);
    model.update(Event::Notice(Notice::Away("cut \u{202e}off\n".to_owned())));
    assert_eq!(model.link, Link::Away("cut \\u{202E}off\\u{000A}".to_owned()));
}

#[test]
fn nothing_that_a_terminal_obeys_comes_through_in_any_field() {
    let evil = "a\u{1b}[2J\u{9b}31m\u{202e}\u{7}\r\u{200b}b";
    let mut asked_evil = approval("a", "prj_1", "HIGH");
    for field in [
        "id",
        "tool",
        "agent",
        "agent_id",
        "on_behalf_of",
        "session",
        "node",
        "digest",
        "diff",
        "program",
        "cwd",
        "path",
    ] {
        asked_evil[field] = json!(evil);
    }
    asked_evil["risk"] = json!({"level": evil, "reasons": [evil]});
    asked_evil["environment"] = json!([evil]);
    asked_evil["params"] = json!({"path": evil, "content": evil, evil: [evil]});
    let mut model = model(&[asked_evil.clone()]);
    model.update(question(1, Risk::High, evil));
    let mut made = call(evil);
    (made.tool, made.agent, made.params) = (evil.to_owned(), evil.to_owned(), asked_evil["params"].clone());
    let result = json!({"stdout": evil, "error": {"message": evil}}).as_object().unwrap().clone();
    let outcome = Outcome { status: "completed", result, reason: None };
    model.update(news(News::Ended { call: made, outcome }));
    model.update(Event::Notice(Notice::Away(evil.to_owned())));
    model.update(news(News::Trouble(evil.to_owned())));
    model.update(news(News::Stopped(Some(evil.to_owned()))));
    model.update(Event::NoApprovals(evil.to_owned()));
    model.update(Event::Resolved(Box::new(serde_json::from_value(asked_evil).unwrap())));
    model.update(Event::Answered { id: evil.to_owned(), outcome: Ok(evil.to_owned()) });
    let Link::Away(away) = &model.link else { panic!() };
    let cards = model.waiting.iter().map(|waiting| &waiting.card).chain(model.made.iter().map(|made| &made.card));
    let rows = cards.flat_map(|card| card.iter().map(|row| row.text.as_str()));
    let titles = model.waiting.iter().flat_map(|waiting| [waiting.title.as_str(), &waiting.risk]);
    let made = model.made.iter().flat_map(|made| [made.title.as_str(), &made.state]);
    let others = model.notes.iter().map(String::as_str).chain(model.no_approvals.as_deref()).chain([away.as_str()]);
    let others = others.chain(model.stopped.as_deref());
    let all: Vec<&str> = rows.chain(titles).chain(made).chain(others).collect();
    assert!(all.iter().any(|text| text.contains("\\u{001B}[2J")), "it is shown: {all:?}");
    let acts = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
    assert_eq!(all.iter().filter(|text| text.contains(acts)).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn a_diff_is_tinted_by_its_lines_and_long_results_are_cut_with_a_word() {
    let mut asked_now = approval("a", "prj_1", "MEDIUM");
    asked_now["preview"]["diff"] = json!("@@ -1 +1 @@\n-old\n+new\tx\n same\n");
    let model = model(&[asked_now]);
    let tint = |text: &str| model.waiting[0].card.iter().find(|row| row.text == text).map(|row| row.tint);
    assert_eq!([tint("-old"), tint("+new    x"), tint(" same")], [Tint::Removed, Tint::Added, Tint::Plain].map(Some));
    let result = json!({"stdout": "x".repeat(100_000)}).as_object().unwrap().clone();
    let made = Made::new(&call("call_1"), Some(&Outcome { status: "completed", result, reason: None }));
    let size: usize = made.card.iter().map(|row: &Row| row.text.len()).sum();
    assert!(size < 40_000 && made.card.iter().any(|row| row.text.contains("more bytes are not shown")));
}

#[test]
fn what_is_for_another_machine_is_marked_on_its_row_and_on_top_of_its_card() {
    let mut elsewhere = approval("a", "prj_1", "MEDIUM");
    for (name, value) in [("node", "nod_2"), ("node_name", "laptop"), ("root_label", "work")] {
        elsewhere[name] = json!(value);
    }
    let model = model(&[elsewhere, approval("b", "prj_1", "MEDIUM")]);
    let [other, own] = ["a", "b"].map(|id| model.waiting.iter().find(|waiting| waiting.id == id).unwrap());
    assert!(other.title.starts_with("[not here: laptop (work)] write_file"), "{}", other.title);
    assert!(own.title.starts_with("write_file"), "{}", own.title);
    let head = |waiting: &Waiting| waiting.card[1].text.clone();
    assert!(head(other).contains("another machine: laptop (work)"), "{}", head(other));
    assert!(head(own).contains("this one"), "{}", head(own));
}
