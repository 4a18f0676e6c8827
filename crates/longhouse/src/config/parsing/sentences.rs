//! What is wrong with a text that is not YAML, in words for people who write it.

use crate::config::problems::{Problem, Spot};
use granit_parser::{ErrorKind, ScanError};

pub(super) fn problem(error: &ScanError, text: &str) -> Problem {
    let mut spot = Spot { line: error.marker().line(), column: error.marker().col() + 1 };
    let (message, expected) = match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => {
            spot.column = column_of_tab(spot, text);
            ("a tab", "spaces: YAML does not allow tabs here")
        }
        ErrorKind::UnclosedQuotedScalar => ("a quotation mark is opened and never closed", "a closing quotation mark"),
        ErrorKind::InvalidQuotedScalarIndent => (
            "text in quotation marks goes on in a line that is not indented",
            "a closing quotation mark above, or more spaces here",
        ),
        ErrorKind::UnclosedFlowCollection { open: '[' } | ErrorKind::UnexpectedEofFlowSequence => {
            ("`[` is opened and never closed", "`]`")
        }
        ErrorKind::UnclosedFlowCollection { .. } | ErrorKind::UnexpectedEofFlowMapping => {
            ("`{` is opened and never closed", "`}`")
        }
        ErrorKind::ExpectedFlowSequenceSeparator => ("the list goes on without a comma", "`,` or `]`"),
        ErrorKind::ExpectedFlowMappingSeparator => ("the map goes on without a comma", "`,` or `}`"),
        ErrorKind::MismatchedFlowCollectionEnd { .. } | ErrorKind::MisplacedFlowCollectionEnd => {
            ("this bracket closes nothing that is open", "the bracket that matches the last opened one")
        }
        ErrorKind::InvalidColonPlacement => ("`:` does not fit here", "a comma or a closing bracket before it"),
        ErrorKind::MappingValueNotAllowed => {
            ("`: ` inside a value that has no quotes", "quotation marks around it, or the key on a line of its own")
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::MappingKeyNotAllowed | ErrorKind::InvalidIndentation => {
            ("this line does not fit what is around it", "a `key: value` indented like its neighbours")
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => ("a word without a value", "`key: value`"),
        ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::BlockSequenceEntryNotAllowed => {
            ("this does not fit the list around it", "`- ` indented like its neighbours")
        }
        ErrorKind::RecursionLimitExceeded => ("lists and maps are nested too deeply", "at most 32 levels"),
        ErrorKind::MissingAnchorOrAliasName => ("`*` and `&` mean something else to YAML", "quotation marks: `\"*\"`"),
        ErrorKind::UnexpectedCharacter { character: '@' | '`' } => {
            ("a value may not begin with this character", "quotation marks around it; where an id is meant, its number")
        }
        ErrorKind::DirectiveDisallowed => ("a line beginning with `%`", "no directives"),
        _ => return Problem::new(spot, format!("this is not YAML: {}", error.kind())),
    };
    Problem::new(spot, message).expected(expected)
}

/// Some are noticed only after them.
fn column_of_tab(spot: Spot, text: &str) -> usize {
    let line: Vec<char> = text.lines().nth(spot.line - 1).unwrap_or_default().chars().take(spot.column).collect();
    line.iter().rposition(|c| *c == '\t').map_or(spot.column, |at| at + 1)
}
