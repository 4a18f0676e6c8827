//! Texts that are YAML, and those that are not.

use super::*;
use crate::config::nodes::Kind;
use std::time::{Duration, Instant};

fn tree(text: &str) -> Node {
    let parsed = parse(text.as_bytes());
    assert!(parsed.problems.is_empty(), "{text:?}: {:?}", parsed.problems);
    parsed.root.unwrap()
}

#[track_caller]
fn problem(bytes: &[u8]) -> (usize, usize, String) {
    let parsed = parse(bytes);
    let first = parsed.problems.first().unwrap_or_else(|| panic!("accepted: {:?}", parsed.root));
    (first.spot.line, first.spot.column, first.to_string())
}

#[test]
fn every_key_and_value_knows_where_it_was_written() {
    for text in [
        "a: 1\nlist:\n  - x\n  - { deep: \"y\" }\n",
        "a: 1\r\nlist:\r\n  - x\r\n  - { deep: \"y\" }\r\n",
        "\u{feff}a: 1\nlist:\n  - x\n  - { deep: \"y\" }\n",
    ] {
        let root = tree(text);
        let entry = root.entry("list").unwrap();
        assert_eq!(entry.key_spot, Spot { line: 2, column: 1 });
        assert_eq!(entry.value.list()[0].spot, Spot { line: 3, column: 5 });
        let deep = entry.value.list()[1].entry("deep").unwrap();
        assert_eq!((deep.key_spot, deep.value.spot), (Spot { line: 4, column: 7 }, Spot { line: 4, column: 13 }));
    }
    let root = tree("größe: { ü: 1, name: x }");
    assert_eq!(root.at(&["größe", "name"]).unwrap().spot, Spot { line: 1, column: 22 }, "columns are characters");
}

#[test]
fn a_scalar_keeps_its_text_and_its_kind() {
    let root = tree("a: 50.00\nb: no\nc: 222\nd: \"222\"\ne:\nf: !!str 5\ng: ''\n");
    let seen = |key: &str| {
        let scalar = root.get(key).unwrap().scalar().unwrap();
        (scalar.text.clone(), scalar.kind)
    };
    assert_eq!(seen("a"), ("50.00".into(), Kind::Decimal));
    assert_eq!(seen("b"), ("no".into(), Kind::Text));
    assert_eq!((seen("c").1, seen("d").1), (Kind::Integer, Kind::Text));
    assert_eq!((seen("e").1, seen("f").1, seen("g").1), (Kind::Null, Kind::Text, Kind::Text));
    assert_eq!(root.get("e").unwrap().spot, Spot { line: 5, column: 1 }, "where nothing is, the key is shown");
}

#[test]
fn an_empty_text_says_nothing() {
    for text in ["", "\n\n", "# only words\n", "---\n", "\u{feff}"] {
        let root = tree(text);
        assert!(root.entries().is_empty() && (root.is_null() || root.list().is_empty()), "{text:?}: {root:?}");
    }
}

#[test]
fn an_alias_stands_for_its_anchor() {
    let root = tree("a: &x { k: v }\nb: *x\n");
    assert_eq!(root.at(&["b", "k"]).unwrap().text(), Some("v"));
    assert_eq!(root.get("b").unwrap().spot, Spot { line: 2, column: 4 });
}

#[test]
fn what_is_not_yaml_is_said_with_its_place() {
    let cases: &[(&[u8], (usize, usize), &str)] = &[
        (b"a: 1\na: 2\n", (2, 1), "the key `a` is here for the second time; expected it once; the first is in line 1"),
        (b"a:\n\tb: 1\n", (2, 1), "a tab; expected spaces"),
        (b"a: \"x\nb: 1\n", (2, 1), "expected a closing quotation mark above"),
        (b"a: \"x", (1, 4), "never closed; expected a closing quotation mark"),
        (b"a: [1, 2\nb: 1\n", (2, 2), "expected"),
        (b"a: {b: 1\n", (1, 4), "`{` is opened and never closed; expected `}`"),
        (b"a: ]\n", (1, 4), "closes nothing"),
        (b"a: b: c\n", (1, 5), "quotation marks around it"),
        (b"a:\n  b: 1\n c: 2\n", (3, 2), "does not fit"),
        (b"a: 1\n---\nb: 2\n", (2, 1), "a second document begins here; expected one document"),
        (b"a: !secret x\n", (1, 12), "the tag `!secret` is not understood"),
        (b"? [a]\n: 1\n", (1, 3), "a key that is itself a list or a map"),
        (b"a: *x\n", (1, 4), "refers to `x`, which is not defined above"),
        (b"a: &x [*x]\n", (1, 8), "it is itself a part of"),
        (b"%YAML 1.2\n---\na: 1\n", (1, 1), "no directives"),
        (b"ok: 1\nb\xff: 1\n", (2, 2), "not UTF-8"),
        (b"a: 1\nb: \0\n", (2, 4), "the control character U+0000"),
        (b"a: \x1b[2J\n", (1, 4), "the control character U+001B"),
    ];
    let mut wrong = Vec::new();
    for (text, place, part) in cases {
        let (line, column, sentence) = problem(text);
        if (line, column) != *place || !sentence.contains(part) {
            wrong.push(format!("{:?}: {sentence}", String::from_utf8_lossy(text)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn deep_nesting_is_refused() {
    for text in
        ["[".repeat(100_000), "a: {".repeat(5_000), (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect()]
    {
        assert!(problem(text.as_bytes()).2.contains("nested too deeply"), "{}", problem(text.as_bytes()).2);
    }
}

#[test]
fn an_alias_bomb_ends_within_a_second() {
    let mut lists = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    let mut maps = "b0: &b0 { x: 1 }\n".to_owned();
    for n in 1..20 {
        let tens = vec![format!("*a{}", n - 1); 10].join(", ");
        lists.push_str(&format!("a{n}: &a{n} [{tens}]\n"));
        maps.push_str(&format!("b{n}: &b{n} {{ x: *b{0}, y: *b{0}, z: *b{0} }}\n", n - 1));
    }
    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(500_000), vec!["*a"; 1_000].join(", "));
    let nested = format!("{}x{}", "[&a ".repeat(30), "]".repeat(30)).replace("[&a ", "&a [") + "\n";
    for (bomb, refused) in [(lists, true), (maps, true), (long, true), (nested, false)] {
        let started = Instant::now();
        let parsed = parse(bomb.as_bytes());
        assert!(started.elapsed() < Duration::from_secs(1));
        assert_eq!(parsed.root.is_none(), refused, "{:?}", parsed.problems);
        if refused {
            assert!(parsed.problems[0].to_string().contains("stands for too much"), "{:?}", parsed.problems);
        }
    }
}
