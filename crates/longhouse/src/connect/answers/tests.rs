//! What counts as an answer, to which question, and for how long.

use super::super::screen::{ASKED_AT_MS, asked_here};
use super::*;
use protocol::tool_calls::Preview;
use std::io::{PipeReader, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

fn when_asked() -> Timestamp {
    Timestamp::from_ms(ASKED_AT_MS)
}

fn scene(clock: fn() -> Timestamp) -> (Arc<Answers<PipeReader>>, PipeWriter) {
    let (read, write) = std::io::pipe().unwrap();
    (Arc::new(Answers::new(read, clock)), write)
}

/// Whether it is a yes if somebody types this and goes.
fn answered(typed: &[u8]) -> Vec<bool> {
    let (answers, mut write) = scene(when_asked);
    let typed = typed.to_vec();
    let typing = std::thread::spawn(move || write.write_all(&typed));
    let said = (0..3).map(|_| answers.ask(&asked_here())).collect();
    let _ = typing.join();
    said
}

#[test]
fn only_a_plain_yes_is_a_yes() {
    let long = format!("{}y\n", "n".repeat(3 * 1024 * 1024));
    let long_blank = format!("{}y\n", " ".repeat(3 * 1024 * 1024));
    let rows: [(&[u8], bool); 16] = [
        (b"y\n", true),
        (b"Y\n", true),
        (b"yes\r\n", true),
        (b"  y \n", true),
        (b"", false),
        (b"y", false),
        (b"\n", false),
        (b"n\ny\n", false),
        (b"oh yes please\n", false),
        (b"yes no\n", false),
        (b"y\0\n", false),
        (b"y\x1b[D\n", false),
        (b"\xff\xfey\n", false),
        ("\u{ff59}\n".as_bytes(), false),
        (long.as_bytes(), false),
        (long_blank.as_bytes(), false),
    ];
    for (typed, expected) in rows {
        let shown = String::from_utf8_lossy(&typed[..typed.len().min(20)]).into_owned();
        assert_eq!(answered(typed)[0], expected, "{shown:?}");
    }
}

#[test]
fn a_line_is_one_answer_however_long_it_is() {
    let text = format!("{} y\nyes\n", "n".repeat(1024 * 1024 + 1024));
    assert_eq!(answered(text.as_bytes()), [false, true, false]);
}

#[test]
fn what_was_cut_is_a_no_and_takes_no_answer() {
    let (answers, mut write) = scene(when_asked);
    write.write_all(b"y\n").unwrap();
    let found = Preview { diff: Some("+a".to_owned()), diff_cut: true, ..Preview::default() };
    assert!(!answers.ask(&Question { found, ..asked_here() }));
    assert!(answers.ask(&asked_here()), "an answer that nobody was asked for is left for the next");
}

#[test]
fn a_question_ends_with_its_time_and_what_is_typed_after_that_answers_nothing() {
    static NOW_MS: AtomicI64 = AtomicI64::new(ASKED_AT_MS);
    for late in ["y\n", "y", "yes\ny\nyes", &"y".repeat(10_000)] {
        NOW_MS.store(ASKED_AT_MS, Ordering::Relaxed);
        let (answers, mut write) = scene(|| Timestamp::from_ms(NOW_MS.load(Ordering::Relaxed)));
        let asking = std::thread::spawn({
            let answers = answers.clone();
            move || answers.ask(&asked_here())
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!asking.is_finished(), "there is time");
        NOW_MS.store(ASKED_AT_MS + 86_400_000, Ordering::Relaxed);
        assert!(!asking.join().unwrap());
        assert!(!answers.ask(&asked_here()), "over before it was asked");

        write.write_all(late.as_bytes()).unwrap();
        NOW_MS.store(ASKED_AT_MS, Ordering::Relaxed);
        let asking = std::thread::spawn({
            let answers = answers.clone();
            move || answers.ask(&asked_here())
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!asking.is_finished(), "{} bytes that were late answer nothing", late.len());
        // The end of a line that began too late is as late.
        let rest = if late.ends_with('\n') { "" } else { "\n" };
        write.write_all(format!("{rest}y\n").as_bytes()).unwrap();
        assert!(asking.join().unwrap());
    }
}

#[test]
fn a_call_that_moved_on_is_not_asked_about_any_more() {
    let (answers, mut write) = scene(when_asked);
    answers.move_on("call_9");
    let ask = |id: &str| {
        let (answers, mut question) = (answers.clone(), asked_here());
        question.call.id = id.to_owned();
        std::thread::spawn(move || answers.ask(&question))
    };
    let shown = ask("call_1");
    std::thread::sleep(Duration::from_millis(50));
    let in_line = ask("call_2");
    std::thread::sleep(Duration::from_millis(50));
    // The one that waits for its turn goes first, then the one that is shown.
    answers.move_on("call_2");
    answers.move_on("call_1");
    assert!(!shown.join().unwrap());
    assert!(!in_line.join().unwrap());
    assert!(answers.open().is_empty());
    let next = ask("call_3");
    std::thread::sleep(Duration::from_millis(50));
    write.write_all(b"y\n").unwrap();
    assert!(next.join().unwrap());
}
