//! The screen, drawn for terminals of all sizes.

use super::super::models::Event;
use super::super::models::tests::{NOW, approval, call, chosen, model, news, question};
use super::*;
use domain::tool_calls::Risk;
use node::News;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use serde_json::json;

use super::super::super::Notice;

fn drawn(model: &mut Model, width: u16, height: u16) -> Vec<String> {
    model.update(Event::Size(width, height));
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut pages = Pages::default();
    terminal.draw(|frame| draw(frame, model, &mut pages)).unwrap();
    model.selection.scroll_at_most(pages.last);
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect()
}

fn press(model: &mut Model, key: KeyCode) {
    model.update(Event::Key(KeyEvent::from(key)));
}

fn busy() -> Model {
    let mut model = chosen(&[approval("b", "prj_2", "HIGH"), approval("a", "prj_1", "MEDIUM")]);
    model.update(question(1, Risk::High, "+a\n"));
    model.update(Event::Notice(Notice::Connected));
    model.update(news(News::Began(call("call_1"))));
    model
}

#[test]
fn all_there_is_to_know_is_on_a_usual_screen() {
    let mut model = busy();
    model.update(Event::Clock(Timestamp::from_ms(NOW + 61_000)));
    let rows = drawn(&mut model, 80, 24);
    let whole = rows.join("\n");
    assert!(rows[0].starts_with("desk for") && rows[0].ends_with("connected"), "{whole}");
    assert!(rows[3].starts_with("Waiting for you (3)"), "{whole}");
    assert!(rows[4].contains("HIGH   13:59 write_file notes.md (agent_coder for usr_owner)"), "{whole}");
    assert!(rows[5].starts_with("> MEDIUM  3:59 write_file notes.md"), "{whole}");
    assert!(whole.contains("write_file notes.md (agent_coder for usr_owner): running"), "{whole}");
    assert!(whole.contains("risk     MEDIUM") && whole.contains("rows above"), "{whole}");
    assert!(rows[23].starts_with("y agree  n disagree"), "{whole}");
}

#[test]
fn a_machine_that_refuses_every_call_says_so_where_its_state_is_until_it_does_not() {
    let mut model = busy();
    model.update(news(News::Stopped(Some("the journal cannot be written: no room".to_owned()))));
    let rows = drawn(&mut model, 100, 24);
    assert!(rows[0].ends_with("every call is refused: the journal cannot be written: no room"), "{}", rows[0]);
    model.update(news(News::Stopped(None)));
    assert!(drawn(&mut model, 80, 24)[0].ends_with("connected"));
}

#[test]
fn a_card_is_seen_whole_by_scrolling() {
    let mut long = approval("a", "prj_1", "MEDIUM");
    let diff: String = (0..500).map(|number| format!("+line {number}\n")).collect();
    long["preview"]["diff"] = json!(diff);
    let mut model = chosen(&[long]);
    press(&mut model, KeyCode::Enter);
    let mut seen = String::new();
    for _ in 0..200 {
        seen.push_str(&drawn(&mut model, 60, 15).join("\n"));
        press(&mut model, KeyCode::PageDown);
    }
    assert!((0..500).all(|number| seen.contains(&format!("+line {number}\n"))));
    assert!(seen.contains("digest   digest of a") && seen.contains("session  s"), "who and where are below");
    press(&mut model, KeyCode::Home);
    assert!(drawn(&mut model, 60, 15).join("\n").contains("tool_write_file notes.md"));
    press(&mut model, KeyCode::End);
    drawn(&mut model, 60, 15);
    press(&mut model, KeyCode::Up);
    assert!(drawn(&mut model, 60, 15).join("\n").contains("1 below"), "the end is not overshot");
}

#[test]
fn no_size_and_no_view_is_too_much() {
    let views = [KeyCode::Esc, KeyCode::Enter, KeyCode::Char('?'), KeyCode::Char('n'), KeyCode::Tab];
    for key in views {
        let mut model = busy();
        press(&mut model, key);
        for (width, height) in [(1, 1), (2, 1), (1, 9), (20, 5), (39, 18), (40, 18), (80, 24), (200, 60), (300, 3)] {
            assert_eq!(drawn(&mut model, width, height).len(), usize::from(height), "{key} {width}x{height}");
        }
    }
}

#[test]
fn on_a_small_screen_the_chosen_one_and_the_keys_are_still_there() {
    let approvals: Vec<_> = (0..30).rev().map(|number| approval(&format!("a{number}"), "prj_1", "HIGH")).collect();
    let mut model = chosen(&approvals);
    (0..29).for_each(|_| press(&mut model, KeyCode::Down));
    assert_eq!(model.selected_waiting().unwrap().id, "a29");
    let rows = drawn(&mut model, 30, 12);
    assert_eq!(rows.iter().filter(|row| row.starts_with('>')).count(), 1, "{rows:?}");
    assert!(rows[11].starts_with("y agree"), "{rows:?}");
    let tiny = drawn(&mut model, 20, 5).join("\n");
    assert!(tiny.contains("desk") && tiny.contains("y agree"), "{tiny}");
}

#[test]
fn what_is_not_offered_and_what_is_missing_is_said() {
    let mut cut = approval("a", "prj_1", "MEDIUM");
    cut["preview"] = json!({"diff": "+a\n", "diff_cut": true});
    assert!(drawn(&mut chosen(&[cut]), 80, 24)[23].contains("a yes is not offered"));
    let how = format!("to answer {} give a token", "here ".repeat(30));
    let mut alone = model(&[]);
    alone.update(Event::NoApprovals(how));
    assert!(drawn(&mut alone, 80, 24).join("\n").contains("give a token"), "also if it is long");
    let mut stale = model(&[approval("a", "prj_1", "MEDIUM")]);
    stale.update(Event::NoApprovals("cannot reach it".to_owned()));
    assert_eq!(drawn(&mut stale, 80, 24)[3], "Waiting for you (1) - cannot reach it");
    let mut armed = chosen(&[approval("a", "prj_1", "HIGH")]);
    press(&mut armed, KeyCode::Char('y'));
    assert!(drawn(&mut armed, 80, 24)[23].starts_with("y AGREE"));
}

#[test]
fn a_yes_is_sent_only_where_rows_of_its_card_are_on_the_screen() {
    let mut shown = 0;
    for (width, height) in (1..60).flat_map(|width| (1..60).map(move |height| (width, height))) {
        for view in [View::Lists, View::Card, View::Help] {
            let mut model = chosen(&[approval("a", "prj_1", "MEDIUM")]);
            model.view = view.clone();
            let rows = drawn(&mut model, width, height);
            let shows_card = model.shows_card();
            if shows_card {
                let card = model.selected_waiting().unwrap().card.clone();
                let mut pages = Pages::default();
                let expected: Vec<&str> =
                    pages.window(&card, width, 3, 0).iter().map(|row| row.text.trim_end()).collect();
                assert!(rows.windows(3).any(|three| three == expected), "{width}x{height} {view:?}: {rows:#?}");
                shown += 1;
            }
            let effects = model.update(Event::Key(KeyEvent::from(KeyCode::Char('y'))));
            assert_eq!(!effects.is_empty(), shows_card, "{width}x{height} {view:?}");
        }
    }
    assert!(shown > 1_000, "{shown}");
}

#[test]
fn the_first_yes_where_there_is_no_room_for_the_card_opens_it_or_says_what_is_missing() {
    for (height, note) in [(18, "look at it first: y agrees"), (5, "make the terminal larger: it is not shown")] {
        let mut model = chosen(&[approval("a", "prj_1", "MEDIUM")]);
        drawn(&mut model, 80, height);
        assert_eq!(model.update(Event::Key(KeyEvent::from(KeyCode::Char('y')))), []);
        assert_eq!((&model.view, model.notes[0].as_str()), (&View::Card, note), "{height}");
    }
}

#[test]
fn what_the_footer_of_the_help_says_is_so() {
    let mut model = busy();
    press(&mut model, KeyCode::Char('?'));
    let rows = drawn(&mut model, 100, 30);
    assert_eq!(rows[29], "q ends, any other key goes back");
    assert!(rows.join("\n").contains("Nothing is chosen before you choose it"), "{rows:#?}");
}

#[test]
fn where_nothing_is_chosen_it_is_said_how_to() {
    let rows = drawn(&mut model(&[approval("a", "prj_1", "MEDIUM")]), 80, 24);
    assert!(rows[23].starts_with("Up Down choose"), "{rows:#?}");
    assert!(rows.iter().any(|row| row.contains("nothing is chosen")), "{rows:#?}");
    assert!(!rows.iter().any(|row| row.starts_with('>')), "{rows:#?}");
}
