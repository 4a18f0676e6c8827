//! Patterns of paths, as a listing takes them: `*` and `?` within a name, `**` for any number of folders. Brackets and
//! braces are letters like any other.

use crate::{Refusal, Result};

const LONGEST_BYTES: usize = 256;

/// A pattern. One without `/` is about names, however deep they lie; one with `/` about the whole path below the folder
/// that is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        let has_length = (1..=LONGEST_BYTES).contains(&text.len());
        let is_part = |part: &str| match part {
            "" | "." | ".." => false,
            "**" => true,
            name => !name.contains("**"),
        };
        if has_length && !text.chars().any(char::is_control) && text.split('/').all(is_part) {
            return Ok(Self(text.to_owned()));
        }
        let message = format!(
            "`{field}` is a pattern such as `*.rs` or `src/**/*.rs`, 1 to {LONGEST_BYTES} bytes, `**` only as a whole part"
        );
        Err(Refusal::invalid_field(field, message))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a path, in its normal form and relative to the folder that is listed, is as the pattern says.
    pub fn matches(&self, path: &str) -> bool {
        if !self.0.contains('/') && self.0 != "**" {
            let name = path.rsplit('/').next().unwrap_or(path);
            return name_matches(&self.0, name);
        }
        let pattern: Vec<&str> = self.0.split('/').collect();
        let path: Vec<&str> = path.split('/').collect();
        run_matches(&pattern, &path, |part| *part == "**", |part, name| name_matches(part, name))
    }
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    run_matches(&pattern, &name, |part| *part == '*', |part, letter| *part == '?' || part == letter)
}

/// One walk for letters and for folders. Goes back only to the last star, so a hostile pattern stays cheap.
fn run_matches<T>(pattern: &[T], text: &[T], is_star: impl Fn(&T) -> bool, fits: impl Fn(&T, &T) -> bool) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        if at < pattern.len() && is_star(&pattern[at]) {
            retry = Some((at, seen));
            at += 1;
        } else if at < pattern.len() && fits(&pattern[at], &text[seen]) {
            at += 1;
            seen += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            at = star + 1;
            seen = from + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_name_and_two_stars_cross_folders() {
        let cases = [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("*.rs", "a.rst", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/*.rs", "x/src/a.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/x/y/a.rs", true),
            ("src/**/*.rs", "src/x/y/a.txt", false),
            ("**/a", "a", true),
            ("**/a", "x/y/a", true),
            ("**", "x/y", true),
            ("src/**", "src/x/y", true),
            ("a?c", "abc", true),
            ("a?c", "aéc", true),
            ("a?c", "ac", false),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("{a,b}", "a", false),
            ("*", "anything", true),
            (".*", ".env", true),
            ("**/x/**/y", "x/a/x/b/y", true),
            ("**/x/**/y", "a/b/y", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::parse("pattern", pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let long = "a".repeat(LONGEST_BYTES + 1);
        for bad in ["", "/a", "a/", "a//b", "../a", "a/..", "./a", "a**", "**a", "***", "a\0", "a\nb", &long] {
            assert_eq!(Glob::parse("pattern", bad).unwrap_err().details["field"], "pattern", "{bad:?}");
        }
    }

    #[test]
    fn a_hostile_pattern_stays_cheap() {
        let pattern = Glob::parse("pattern", &"*a".repeat(100)).unwrap();
        assert!(!pattern.matches(&format!("{}b", "a".repeat(4000))));
        let folders = Glob::parse("pattern", &format!("{}b", "**/a/".repeat(40))).unwrap();
        assert!(!folders.matches(&"a/".repeat(1000)));
    }
}
