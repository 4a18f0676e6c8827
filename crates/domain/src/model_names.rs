//! Patterns of model names, as prices and routes use them: `*` stands for any run of characters.

use crate::participants::glob;

/// What the best pattern for `model` has: the name itself, else the pattern with the most other characters than `*`;
/// of two equally long ones the first.
pub fn best<'a, T>(table: impl IntoIterator<Item = (&'a str, T)>, model: &str) -> Option<T> {
    let mut found: Option<(usize, T)> = None;
    for (pattern, value) in table {
        if pattern == model {
            return Some(value);
        }
        let literal = pattern.bytes().filter(|byte| *byte != b'*').count();
        let is_longer = found.as_ref().is_none_or(|(longest, _)| literal > *longest);
        if is_longer && matches(pattern, model) {
            found = Some((literal, value));
        }
    }
    found.map(|(_, value)| value)
}

/// Whether the whole of `model` is as `pattern` says.
pub fn matches(pattern: &str, model: &str) -> bool {
    glob(pattern.as_bytes(), model.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        let cases = [
            ("gpt-4", "gpt-4", true),
            ("gpt-4", "gpt-4o", false),
            ("gpt-*", "gpt-", true),
            ("gpt-*", "gp", false),
            ("*", "", true),
            ("*-mini", "o4-mini", true),
            ("*-mini", "o4-mini-x", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("a**a", "aa", true),
            ("", "", true),
            ("", "x", false),
            ("é*", "école", true),
        ];
        for (pattern, model, expected) in cases {
            assert_eq!(matches(pattern, model), expected, "{pattern:?} {model:?}");
        }
    }

    #[test]
    fn the_name_itself_wins_then_the_longest_pattern() {
        let table = [("*", 1), ("gpt-*", 2), ("gpt-4*", 3), ("gpt-4", 4), ("*-mini", 5)];
        let cases = [("gpt-4", 4), ("gpt-4o", 3), ("gpt-5", 2), ("llama", 1), ("o4-mini", 5), ("gpt-4o-mini", 3)];
        for (model, expected) in cases {
            assert_eq!(best(table, model), Some(expected), "{model}");
        }
        assert_eq!(best([("gpt-*", 1)], "claude"), None);
    }
}
