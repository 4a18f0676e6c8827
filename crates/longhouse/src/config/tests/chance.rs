//! Files that chance made from a right one: whatever comes of them, nothing panics and nothing hangs.

use super::{WHOLE, lines};
use crate::config::meanings::{Findings, KnownPeople, find};
use crate::config::{checks, declarations, format, parsing, processes};
use std::time::{Duration, Instant};

/// Numbers that only look like chance: a failure can be had again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % most.max(1)
    }
}

const PIECES: [&str; 24] = [
    "\t",
    "\n",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!!str ",
    "\"",
    "'",
    "|",
    ">",
    "#",
    "%",
    "@",
    "\0",
    "é",
    "? ",
    "---\n",
    "99999999999999999999",
    "-0.5e3",
];

fn mutated(chance: &mut Chance) -> Vec<u8> {
    let mut bytes = WHOLE.as_bytes().to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        match chance.below(5) {
            0 => bytes[at] = u8::try_from(chance.below(256)).unwrap_or_default(),
            1 => {
                bytes.remove(at);
            }
            2 => {
                let piece = PIECES[chance.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            3 => bytes.truncate(at),
            _ => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let mut all: Vec<&str> = text.split_inclusive('\n').collect();
                let (from, to) = (chance.below(all.len()), chance.below(all.len()));
                all.swap(from, to);
                if chance.below(2) == 0 {
                    all.remove(chance.below(all.len()));
                }
                bytes = all.concat().into_bytes();
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

#[test]
fn whatever_chance_does_to_a_file_it_is_answered_soon() {
    let mut chance = Chance(7);
    let (mut accepted, started) = (0, Instant::now());
    for round in 0..5_000 {
        let bytes = mutated(&mut chance);
        let began = Instant::now();
        let parsed = parsing::parse(&bytes);
        let mut findings = Findings { problems: parsed.problems, ..Findings::default() };
        if let Some(root) = &parsed.root {
            findings.problems.extend(checks::check(root, &format::FILE).problems);
            find(root, &KnownPeople::Anybody, &mut findings);
            let _ = (declarations::declaration(root), processes::settings(root));
        } else {
            assert!(!findings.problems.is_empty(), "round {round}: nothing is said");
        }
        accepted += usize::from(findings.problems.is_empty());
        assert!(findings.problems.iter().all(|problem| problem.spot.line >= 1 && problem.spot.column >= 1));
        let _ = lines(&findings.problems);
        assert!(began.elapsed() < Duration::from_secs(1), "round {round}: {}", String::from_utf8_lossy(&bytes));
    }
    assert!(accepted > 50, "some changes do no harm: {accepted}");
    assert!(started.elapsed() < Duration::from_secs(120));
}
