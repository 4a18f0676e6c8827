//! What is wrong with a configuration, where, and what was expected there. A message names keys and names, never a
//! value that may be a secret.

use serde_json::{Value, json};
use std::fmt;

/// A position in a text, both counted from one; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Spot {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// One thing that is wrong, or one that should be known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// Empty for the configuration file itself until it is known under which name it was given.
    pub(crate) file: String,
    pub(crate) spot: Spot,
    pub(crate) message: String,
    pub(crate) expected: Option<String>,
    pub(crate) suggestion: Option<String>,
}

impl Problem {
    pub(crate) fn new(spot: Spot, message: impl Into<String>) -> Self {
        Self { file: String::new(), spot, message: message.into(), expected: None, suggestion: None }
    }

    #[must_use]
    pub(crate) fn expected(mut self, what: impl Into<String>) -> Self {
        self.expected = Some(what.into());
        self
    }

    /// What was probably meant.
    #[must_use]
    pub(crate) fn suggest<'a>(mut self, written: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestion = nearest(written, known);
        self
    }

    #[must_use]
    pub(crate) fn in_file(mut self, file: &str) -> Self {
        if self.file.is_empty() {
            file.clone_into(&mut self.file);
        }
        self
    }

    pub(crate) fn as_json(&self) -> Value {
        let mut object = json!({
            "file": self.file,
            "line": self.spot.line,
            "column": self.spot.column,
            "message": self.message,
        });
        if let Some(expected) = &self.expected {
            object["expected"] = json!(expected);
        }
        if let Some(suggestion) = &self.suggestion {
            object["suggestion"] = json!(suggestion);
        }
        object
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file: String = self.file.chars().flat_map(visible).collect();
        write!(f, "{file}:{}:{}: {}", self.spot.line, self.spot.column, self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        Ok(())
    }
}

/// More than anybody reads at once.
pub(crate) const SHOWN_MOST: usize = 100;

/// One line for each, in the order of the text, and how many more there are.
pub(crate) fn lines(problems: &[Problem]) -> Vec<String> {
    let mut lines: Vec<String> = problems.iter().take(SHOWN_MOST).map(ToString::to_string).collect();
    if problems.len() > SHOWN_MOST {
        lines.push(format!("and {} more", problems.len() - SHOWN_MOST));
    }
    lines
}

/// `1 problem`, `3 problems`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// In the order of the text, each once: what an alias repeats is wrong in one place.
pub(crate) fn in_order(mut problems: Vec<Problem>, file: &str) -> Vec<Problem> {
    problems.sort_by(|a, b| (&a.file, a.spot, &a.message).cmp(&(&b.file, b.spot, &b.message)));
    problems.dedup();
    problems.into_iter().map(|problem| problem.in_file(file)).collect()
}

/// A name as it was written, short enough and without characters that would act on a terminal.
pub(crate) fn quoted(name: &str) -> String {
    const LONGEST: usize = 64;
    let mut shown: String = name.chars().take(LONGEST).flat_map(visible).collect();
    if name.chars().count() > LONGEST {
        shown.push('…');
    }
    format!("`{shown}`")
}

fn visible(c: char) -> Vec<char> {
    if c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    {
        return c.escape_unicode().collect();
    }
    vec![c]
}

/// The known word that differs least, if it is near enough to have been meant.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const LONGEST: usize = 64;
    if written.is_empty() || written.len() > LONGEST {
        return None;
    }
    let wanted = written.to_lowercase().replace('-', "_");
    let near_enough = (wanted.chars().count() / 3).clamp(1, 3);
    let distance = |word: &str| {
        let word = word.to_lowercase().replace('-', "_");
        // The word for the secret itself, where the name of a variable belongs.
        if word.strip_suffix("_env") == Some(&wanted) { 0 } else { strsim::osa_distance(&wanted, &word) }
    };
    let candidates = known.into_iter().map(|word| (distance(word), word));
    let (_, word) = candidates.filter(|(distance, _)| *distance <= near_enough).min()?;
    Some(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_with_where_what_and_how_to_mend_it() {
        let problem = Problem::new(Spot { line: 12, column: 5 }, "unknown key `menbers`")
            .expected("one of description, members")
            .suggest("menbers", ["description", "members"])
            .in_file("longhouse.yaml");
        assert_eq!(
            problem.to_string(),
            "longhouse.yaml:12:5: unknown key `menbers`; expected one of description, members; did you mean `members`?"
        );
        assert_eq!(problem.as_json()["suggestion"], "members");
    }

    #[test]
    fn a_word_is_suggested_only_if_it_is_near() {
        let known = ["members", "model", "token_env", "webhook_secret_env", "daily_usd"];
        let cases = [
            ("menbers", Some("members")),
            ("Members", Some("members")),
            ("modle", Some("model")),
            ("token", Some("token_env")),
            ("daily-usd", Some("daily_usd")),
            ("banana", None),
            ("x", None),
            ("", None),
        ];
        for (written, meant) in cases {
            assert_eq!(nearest(written, known).as_deref(), meant, "{written}");
        }
    }

    #[test]
    fn the_same_problem_is_said_once_and_in_the_order_of_the_text() {
        let at = |line, column| Problem::new(Spot { line, column }, "x");
        let sorted = in_order(vec![at(3, 1), at(2, 9), at(2, 9), at(2, 1)], "f");
        let spots: Vec<_> = sorted.iter().map(|problem| (problem.spot.line, problem.spot.column)).collect();
        assert_eq!(spots, [(2, 1), (2, 9), (3, 1)]);
    }

    #[test]
    fn what_was_written_does_not_act_on_a_terminal() {
        assert_eq!(quoted("a\u{1b}[2Jb\u{202e}"), "`a\\u{1b}[2Jb\\u{202e}`");
        assert!(quoted(&"x".repeat(500)).chars().count() < 70);
    }
}
