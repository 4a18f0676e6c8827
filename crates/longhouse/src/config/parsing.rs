//! YAML text to a tree with positions, within limits on size, depth and what aliases may stand for. Here is only what
//! any YAML text must be; what a configuration may say is in `shapes` and `checks`.

mod sentences;
mod trees;

use super::nodes::Node;
use super::problems::{Problem, Spot};
use granit_parser::{Event, Parser};
use trees::Tree;

pub(crate) const BYTES_MOST: usize = 1024 * 1024;
pub(crate) const DEPTH_MOST: usize = 32;

/// What was understood. Without a tree the text could not be read to its end.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Option<Node>,
    pub(crate) problems: Vec<Problem>,
}

impl Parsed {
    fn nothing(problem: Problem) -> Self {
        Self { root: None, problems: vec![problem] }
    }
}

/// Reads bytes as a file has them. An empty text is an empty map.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let problem = Problem::new(end_of(&before), "this is not UTF-8 text");
            return Parsed::nothing(problem.expected("a text file in UTF-8"));
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some((at, character)) = text.char_indices().find(|(_, c)| is_forbidden(*c)) {
        let message = format!("the control character U+{:04X}", u32::from(character));
        return Parsed::nothing(Problem::new(end_of(&text[..at]), message).expected("plain text"));
    }
    parse_text(text)
}

fn is_forbidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{feff}')
}

/// Where the character after `text` stands.
fn end_of(text: &str) -> Spot {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let last = text.rsplit('\n').next().unwrap_or_default();
    Spot { line: text.matches('\n').count() + 1, column: last.chars().count() + 1 }
}

fn parse_text(text: &str) -> Parsed {
    let options = granit_parser::options! {
        flow_nesting_limit: DEPTH_MOST,
        block_nesting_limit: DEPTH_MOST,
        emit_unresolved_aliases: true,
        disallow_directives: true,
    };
    let mut tree = Tree::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match next {
            Ok(found) => found,
            Err(error) => {
                tree.problems.push(sentences::problem(&error, text));
                return Parsed { root: None, problems: tree.problems };
            }
        };
        let spot = Spot { line: span.start.line(), column: span.start.col() + 1 };
        let second = matches!(event, Event::DocumentStart(..)) && tree.is_complete();
        if second {
            let problem = Problem::new(spot, "a second document begins here").expected("one document in the file");
            tree.problems.push(problem);
            break;
        }
        if let Err(problem) = tree.take(event, spot) {
            tree.problems.push(problem);
            return Parsed { root: None, problems: tree.problems };
        }
    }
    Parsed { root: Some(tree.root.unwrap_or_else(|| Node::empty_map(Spot::START))), problems: tree.problems }
}

#[cfg(test)]
mod tests;
