//! Patterns of names: `*`, `?`, `[a-z]`, `[!a]` within a name, `**` for any directories between. A pattern without `/` is meant
//! for the last name, wherever it lies. Time grows with the product of the two lengths, never faster.

use crate::{Error, Result};

const LONGEST_BYTES: usize = 1_024;

pub(crate) struct Glob {
    segments: Vec<Segment>,
    of_name_only: bool,
}

enum Segment {
    AnyDirectories,
    Name(Vec<Piece>),
}

enum Piece {
    Any,
    One,
    This(char),
    Of { ranges: Vec<(char, char)>, negated: bool },
}

impl Glob {
    pub(crate) fn parse(pattern: &str) -> Result<Self> {
        if pattern.is_empty() || pattern.len() > LONGEST_BYTES {
            return Err(Error::InvalidArgument("a pattern has 1 to 1024 bytes"));
        }
        let segments: Result<Vec<_>> = pattern.split('/').map(segment).collect();
        Ok(Self { segments: segments?, of_name_only: !pattern.contains('/') })
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        let path = if self.of_name_only { path.rsplit('/').next().unwrap_or(path) } else { path };
        let names: Vec<&str> = path.split('/').collect();
        // `reached[n]`: what was read of the pattern fits the first n names.
        let mut reached = vec![false; names.len() + 1];
        reached[0] = true;
        for segment in &self.segments {
            let mut next = vec![false; names.len() + 1];
            match segment {
                Segment::AnyDirectories => {
                    let first = reached.iter().position(|reached| *reached).unwrap_or(reached.len());
                    next.iter_mut().skip(first).for_each(|next| *next = true);
                }
                Segment::Name(pieces) => {
                    for (at, name) in names.iter().enumerate() {
                        next[at + 1] = reached[at] && fits(pieces, name);
                    }
                }
            }
            reached = next;
        }
        reached[names.len()]
    }
}

fn segment(text: &str) -> Result<Segment> {
    if text == "**" {
        return Ok(Segment::AnyDirectories);
    }
    let mut pieces = Vec::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        pieces.push(match character {
            '*' => Piece::Any,
            '?' => Piece::One,
            '[' => set(&mut characters)?,
            other => Piece::This(other),
        });
    }
    Ok(Segment::Name(pieces))
}

/// What stands behind `[`, up to its `]`. A `]` as the first is meant itself.
fn set(characters: &mut std::str::Chars<'_>) -> Result<Piece> {
    let mut inside: Vec<char> = Vec::new();
    loop {
        match characters.next() {
            Some(']') if !(inside.is_empty() || inside == ['!']) => break,
            Some(character) => inside.push(character),
            None => return Err(Error::InvalidArgument("a `[` in the pattern has no `]`")),
        }
    }
    let negated = inside.first() == Some(&'!');
    let mut rest = &inside[usize::from(negated)..];
    let mut ranges = Vec::new();
    while let Some(&from) = rest.first() {
        let (to, length) = if rest.len() >= 3 && rest[1] == '-' { (rest[2], 3) } else { (from, 1) };
        ranges.push((from, to));
        rest = &rest[length..];
    }
    Ok(Piece::Of { ranges, negated })
}

fn fits(pieces: &[Piece], name: &str) -> bool {
    let mut reached = vec![false; pieces.len() + 1];
    reached[0] = true;
    let spread = |reached: &mut Vec<bool>| {
        for (at, piece) in pieces.iter().enumerate() {
            reached[at + 1] |= reached[at] && matches!(piece, Piece::Any);
        }
    };
    spread(&mut reached);
    for character in name.chars() {
        let mut next = vec![false; pieces.len() + 1];
        for (at, piece) in pieces.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match piece {
                Piece::Any => next[at] = true,
                Piece::One => next[at + 1] = true,
                Piece::This(this) => next[at + 1] |= *this == character,
                Piece::Of { ranges, negated } => {
                    let is_inside = ranges.iter().any(|(from, to)| (from..=to).contains(&&character));
                    next[at + 1] |= is_inside != *negated;
                }
            }
        }
        spread(&mut next);
        reached = next;
    }
    reached[pieces.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_people_expect() {
        let cases = [
            ("*.rs", "main.rs", true),
            ("*.rs", "src/deep/main.rs", true),
            ("*.rs", "main.rst", false),
            ("src/*.rs", "src/main.rs", true),
            ("src/*.rs", "src/deep/main.rs", false),
            ("src/**/*.rs", "src/main.rs", true),
            ("src/**/*.rs", "src/a/b/main.rs", true),
            ("**/main.rs", "main.rs", true),
            ("src/**", "src/a/b", true),
            ("src/**", "lib/a", false),
            ("?.txt", "ü.txt", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("*a*b", "xaxxb", true),
            ("*a*b", "xbxa", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::parse(pattern).unwrap().matches(path), expected, "{pattern} on {path}");
        }
        assert!(Glob::parse("[a").is_err());
        assert!(Glob::parse("").is_err());
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_not() {
        let begun = std::time::Instant::now();
        assert!(!Glob::parse(&"*a".repeat(500)).unwrap().matches(&format!("{}b", "a".repeat(250))));
        assert!(
            !Glob::parse(&format!("{}/b", vec!["**"; 300].join("/"))).unwrap().matches(&vec!["a"; 2_000].join("/"))
        );
        assert!(begun.elapsed().as_secs() < 2);
    }
}
