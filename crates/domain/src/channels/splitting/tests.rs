//! Texts and their parts: a table of what readers see, and rules that hold for any text.

use super::super::{DISCORD_LONGEST, TELEGRAM_LONGEST};
use super::*;
use proptest::prelude::*;

fn lengths(parts: &[String]) -> Vec<usize> {
    parts.iter().map(|part| utf16_length(part)).collect()
}

#[test]
fn what_fits_is_one_part_and_what_is_empty_is_none() {
    for text in ["hello", "```\nopen for ever", "  indented", &"x".repeat(256)] {
        assert_eq!(split(text, 256), [text]);
    }
    for text in ["", " ", "\n\n\t\u{a0}\n"] {
        assert!(split(text, 256).is_empty(), "{text:?}");
    }
    assert_eq!(split("hello\n\n", 256), ["hello"]);
}

#[test]
fn paragraphs_are_kept_together_then_lines_then_words() {
    let (a, b) = ("a ".repeat(75), "b ".repeat(75));
    let paragraphs = format!("{a}\nsecond line\n\n{b}");
    assert_eq!(split(&paragraphs, 256), [format!("{a}\nsecond line"), b.trim_end().to_owned()]);
    let lines = format!("{a}\n{b}");
    assert_eq!(split(&lines, 256), [a.trim_end(), b.trim_end()]);
    let words = "longhouse ".repeat(40);
    let parts = split(&words, 256);
    assert!(parts.iter().all(|part| part.split(' ').all(|word| word == "longhouse")), "{parts:?}");
}

#[test]
fn one_endless_word_is_cut_between_characters() {
    let families = "👨‍👩‍👧‍👦".repeat(100);
    for part in split(&families, 256) {
        assert!(part.len() % "👨‍👩‍👧‍👦".len() == 0 && utf16_length(&part) <= 256, "a family was torn apart");
    }
    assert_eq!(lengths(&split(&"😀".repeat(300), 257)), [256, 256, 88]);
    let stacked = format!("e{}", "\u{301}".repeat(1_000));
    assert_eq!(lengths(&split(&stacked, 256)), [256, 256, 256, 233], "what is no message in one piece is cut anyway");
}

#[test]
fn code_is_closed_and_opened_again() {
    let line = "let x = 1;\n".repeat(50);
    let text = format!("Look:\n\n```rust\n{line}```\nThat is all.");
    let parts = split(&text, 256);
    assert!(parts.len() > 2, "{parts:?}");
    for (number, part) in parts.iter().enumerate() {
        assert_eq!(part.matches("```").count(), 2, "{part}");
        assert!(part.contains("```rust\n"), "{part}");
        assert!(utf16_length(part) <= 256);
        assert_eq!(part.ends_with("\n```"), number + 1 < parts.len(), "{part}");
    }
    assert!(parts.last().is_some_and(|part| part.ends_with("That is all.")));
    let code: String =
        parts.concat().lines().filter(|line| line.starts_with("let")).map(|l| format!("{l}\n")).collect();
    assert_eq!(code, line);
}

#[test]
fn code_that_would_fit_by_itself_is_not_cut() {
    let before = "word ".repeat(30);
    let code = format!("```\n{}```", "x\n\n".repeat(40));
    assert_eq!(split(&format!("{before}\n{code}"), 256), [before.trim_end(), &code]);
}

#[test]
fn indentation_in_code_survives_the_cut() {
    let text = format!("```\n{}```", "    deep\n".repeat(60));
    for part in split(&text, 256) {
        assert!(part.lines().all(|line| line == "```" || line == "    deep"), "{part}");
    }
}

#[test]
fn tricks_with_fences_lead_nowhere() {
    let texts = [
        "`".repeat(10_000),
        "```\n".repeat(3_000),
        format!("```{}\ncode", "x".repeat(9_000)),
        format!("~~~{}\n{}", "y".repeat(64), "z".repeat(9_000)),
        format!("```````````````` {}\n{}", "y".repeat(60), "z ".repeat(9_000)),
        "\n".repeat(9_000) + "end",
        " ".repeat(9_000) + "end",
        "\u{202e}".repeat(9_000),
    ];
    for text in texts {
        for most in [256, DISCORD_LONGEST, TELEGRAM_LONGEST] {
            let parts = split(&text, most);
            assert!(!parts.is_empty() && parts.len() <= 2 + text.len() / 64);
            assert!(parts.iter().all(|part| utf16_length(part) <= most && !part.trim().is_empty()));
        }
    }
}

/// What must be in the parts, in this order: all but white space and what fences are made of.
fn essence(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, '`' | '~')).collect()
}

proptest! {
    #[test]
    fn nothing_is_lost_and_no_part_is_too_long(
        pieces in prop::collection::vec(prop_oneof![
            Just("\n".to_owned()), Just("\n\n".to_owned()), Just("\n```\n".to_owned()), Just("\n~~~~\n".to_owned()),
            "[a-z ]{0,200}", "\\PC{0,40}", Just("👩‍🚀é\u{301}".to_owned()), Just("w".repeat(300)),
        ], 0..60),
        most in 256_usize..700,
    ) {
        let text = pieces.concat();
        let parts = split(&text, most);
        for part in &parts {
            prop_assert!(utf16_length(part) <= most, "{} of {most}", utf16_length(part));
            prop_assert!(!part.trim().is_empty());
        }
        prop_assert_eq!(essence(&parts.concat()), essence(&text));
    }
}
