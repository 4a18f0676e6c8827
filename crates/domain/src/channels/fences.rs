//! Code fences of Markdown: the lines that begin and end a block of code.

/// Longer ones are no fences to us: what opens a part again must be short.
pub(super) const MARKER_LONGEST: usize = 16;
const LANGUAGE_LONGEST: usize = 64;

/// A line that begins a block of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence<'t> {
    /// Three or more backticks or tildes.
    pub marker: &'t str,
    /// What follows them, `rust` for one; often nothing.
    pub language: &'t str,
}

/// Whether a line begins a block of code.
pub fn fence_of(line: &str) -> Option<Fence<'_>> {
    let (marker, after) = marker_of(line)?;
    let language = after.trim();
    let is_short = language.len() <= LANGUAGE_LONGEST;
    // Backticks in what follows are code within a line.
    (is_short && !language.contains('`')).then_some(Fence { marker, language })
}

/// Whether a line ends the block that this fence began.
pub fn is_end_of(fence: Fence<'_>, line: &str) -> bool {
    marker_of(line).is_some_and(|(marker, after)| {
        marker.starts_with(&fence.marker[..1]) && marker.len() >= fence.marker.len() && after.trim().is_empty()
    })
}

fn marker_of(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start_matches(' ');
    let letter = text.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let after = text.trim_start_matches(letter);
    let marker = &text[..text.len() - after.len()];
    let is_marker = line.len() - text.len() <= 3 && (3..=MARKER_LONGEST).contains(&marker.len());
    is_marker.then_some((marker, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_what_markdown_says_they_are() {
        let cases = [
            ("```", Some(("```", ""))),
            ("```rust", Some(("```", "rust"))),
            ("   ~~~~  toml ", Some(("~~~~", "toml"))),
            ("    ```", None),
            ("``", None),
            ("```a`b```", None),
            ("text ```", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(fence_of(line).map(|fence| (fence.marker, fence.language)), expected, "{line:?}");
        }
        assert!(fence_of(&"`".repeat(17)).is_none() && fence_of(&format!("```{}", "x".repeat(65))).is_none());
    }

    #[test]
    fn a_block_ends_with_its_own_marker_and_nothing_else() {
        let fence = Fence { marker: "```", language: "" };
        for (line, expected) in [("```", true), ("`````  ", true), ("``", false), ("~~~", false), ("``` x", false)] {
            assert_eq!(is_end_of(fence, line), expected, "{line:?}");
        }
    }
}
