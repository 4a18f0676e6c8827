//! Where a tree differs from the shape it should have: every place, each with what was expected there.

use super::nodes::{Entry, Kind, Node, Value};
use super::problems::{Problem, SHOWN_MOST, Spot, nearest, quoted};
use super::shapes::{Fields, Shape, VARIABLE, Word, any_of};
use domain::money::Micros;
use regex::Regex;
use std::collections::HashMap;

/// What was found.
pub(crate) struct Checked {
    pub(crate) problems: Vec<Problem>,
    /// Something is longer than the format allows: comparing all of it with all of it would take long.
    pub(crate) too_many: bool,
}

/// Everything in `root` that is not as `shape` says.
pub(crate) fn check(root: &Node, shape: &'static Shape) -> Checked {
    let mut checker = Checker::default();
    // A file that says nothing is whole.
    if !root.is_null() {
        checker.node(root, shape);
    }
    Checked { problems: checker.problems, too_many: checker.too_many }
}

#[derive(Default)]
struct Checker {
    problems: Vec<Problem>,
    too_many: bool,
    patterns: HashMap<&'static str, Option<Regex>>,
}

impl Checker {
    fn node(&mut self, node: &Node, shape: &'static Shape) {
        match (shape, &node.value) {
            (Shape::Either(shapes), _) => self.either(node, shape, shapes),
            (Shape::Fields(fields), Value::Map(entries)) => self.fields(node.spot, entries, fields),
            (Shape::Names { name, each, most }, Value::Map(entries)) => {
                self.count(node.spot, entries.len(), 0, *most);
                for entry in entries {
                    self.name(entry, name);
                    self.named(entry, each);
                }
            }
            // A section with nothing below its name.
            (Shape::Names { .. }, _) if node.is_null() => {}
            (Shape::List { each, least, most }, Value::List(elements)) => {
                self.count(node.spot, elements.len(), *least, *most);
                elements.iter().for_each(|element| self.node(element, each));
            }
            (Shape::Fields(_) | Shape::Names { .. } | Shape::List { .. }, _) | (_, Value::List(_) | Value::Map(_)) => {
                self.other_kind(node, shape);
            }
            (_, Value::Scalar(_)) => self.scalar(node, shape),
        }
    }

    /// What a name stands for. A name with nothing below it says nothing more.
    fn named(&mut self, entry: &Entry, each: &'static Shape) {
        match each {
            Shape::Fields(fields) if entry.value.is_null() => self.fields(entry.key_spot, &[], fields),
            _ => self.node(&entry.value, each),
        }
    }

    fn fields(&mut self, spot: Spot, entries: &[Entry], shape: &'static Fields) {
        for entry in entries {
            match shape.fields.iter().find(|field| field.name == entry.key) {
                Some(field) => self.node(&entry.value, field.shape),
                None => self.problems.push(unknown_key(entry, shape, self.problems.len() < SHOWN_MOST)),
            }
        }
        let is_there = |name: &str| entries.iter().any(|entry| entry.key == name);
        for field in shape.fields.iter().filter(|field| field.required && !is_there(field.name)) {
            let problem = Problem::new(spot, format!("the key `{}` is missing", field.name));
            self.problems.push(problem.expected(field.shape.expected()));
        }
        self.one_of(spot, &is_there, shape.one_of);
    }

    /// Exactly one group of keys is there, and it is whole.
    fn one_of(&mut self, spot: Spot, is_there: &dyn Fn(&str) -> bool, groups: &'static [&'static [&'static str]]) {
        if groups.is_empty() {
            return;
        }
        let begun: Vec<_> = groups.iter().filter(|group| group.iter().any(|name| is_there(name))).collect();
        let whole = |group: &[&str]| group.iter().all(|name| is_there(name));
        let words =
            groups.iter().map(|group| group.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" with "));
        let expected = any_of(&words.collect::<Vec<_>>());
        let message = match begun[..] {
            [group] if whole(group) => return,
            [_] => "one of two keys that belong together is missing",
            [] => "a key is missing",
            _ => "keys that exclude each other",
        };
        self.problems.push(Problem::new(spot, message).expected(expected));
    }

    fn either(&mut self, node: &Node, shape: &'static Shape, shapes: &'static [Shape]) {
        let fits = |shape: &&Shape| match (&node.value, shape) {
            (Value::Map(_), Shape::Fields(_) | Shape::Names { .. }) | (Value::List(_), Shape::List { .. }) => true,
            (Value::Scalar(_), one) => one.inner().is_empty(),
            _ => false,
        };
        match shapes.iter().find(fits) {
            Some(one @ (Shape::Fields(_) | Shape::Names { .. } | Shape::List { .. })) => self.node(node, one),
            Some(one) if self.is_scalar_of(node, one) => {}
            _ => self.other_kind(node, shape),
        }
    }

    fn name(&mut self, entry: &Entry, word: &'static Word) {
        if !self.fits(&entry.key, word) {
            let message = format!("{} cannot be a name here", quoted(&entry.key));
            self.problems.push(Problem::new(entry.key_spot, message).expected(word.expected));
        }
    }

    fn count(&mut self, spot: Spot, number: usize, least: usize, most: usize) {
        if number < least {
            self.problems.push(Problem::new(spot, "an empty list").expected(format!("at least {least}")));
        } else if number > most {
            self.too_many = true;
            let problem = Problem::new(spot, format!("{number} are too many"));
            self.problems.push(problem.expected(format!("at most {most}")));
        }
    }

    fn scalar(&mut self, node: &Node, shape: &'static Shape) {
        if self.is_scalar_of(node, shape) {
            return;
        }
        let Some(text) = node.text() else { return self.other_kind(node, shape) };
        let kind = node.scalar().map(|scalar| scalar.kind);
        let problem = match shape {
            Shape::Variable => Problem::new(
                node.spot,
                "not the name of an environment variable; a secret does not belong in this file",
            ),
            Shape::Integer { .. } if kind == Some(Kind::Integer) => Problem::new(node.spot, "out of range"),
            Shape::Money if matches!(kind, Some(Kind::Integer | Kind::Decimal)) => {
                Problem::new(node.spot, "not an amount of money")
            }
            Shape::Text(_) if kind != Some(Kind::Text) => {
                Problem::new(node.spot, format!("{} instead of text", found(node)))
            }
            Shape::Id(_) if text.starts_with('@') => {
                Problem::new(node.spot, "a handle, which its owner can change and another take")
            }
            Shape::Choice(words) => {
                Problem::new(node.spot, "none of the words that are possible here").suggest(text, words.iter().copied())
            }
            Shape::Bool if matches!(text, "yes" | "on" | "no" | "off") => {
                let meant = if matches!(text, "yes" | "on") { "true" } else { "false" };
                Problem {
                    suggestion: Some(meant.to_owned()),
                    ..Problem::new(node.spot, "text instead of a truth value")
                }
            }
            Shape::Text(word) | Shape::Id(word) if text.chars().count() > word.longest => {
                Problem::new(node.spot, format!("too long: at most {} characters", word.longest))
            }
            Shape::Text(_) | Shape::Id(_) => Problem::new(node.spot, "not well-formed"),
            _ => Problem::new(node.spot, found(node)),
        };
        self.problems.push(problem.expected(shape.expected()));
    }

    fn is_scalar_of(&mut self, node: &Node, shape: &'static Shape) -> bool {
        let (Some(scalar), Some(text)) = (node.scalar(), node.text()) else { return false };
        match shape {
            Shape::Text(word) => scalar.kind == Kind::Text && self.fits(text, word),
            Shape::Id(word) => matches!(scalar.kind, Kind::Text | Kind::Integer) && self.fits(text, word),
            Shape::Variable => scalar.kind == Kind::Text && self.fits(text, &VARIABLE) && !looks_secret(text),
            Shape::Integer { least, most } => {
                scalar.kind == Kind::Integer
                    && text.parse::<i64>().is_ok_and(|number| (*least..=*most).contains(&number))
            }
            Shape::Money => matches!(scalar.kind, Kind::Integer | Kind::Decimal) && Micros::parse_usd(text).is_some(),
            Shape::Bool => scalar.kind == Kind::Bool,
            Shape::Choice(words) => scalar.kind == Kind::Text && words.contains(&text),
            Shape::Fields(_) | Shape::Names { .. } | Shape::List { .. } | Shape::Either(_) => false,
        }
    }

    fn fits(&mut self, text: &str, word: &'static Word) -> bool {
        let pattern = self.patterns.entry(word.pattern).or_insert_with(|| Regex::new(word.pattern).ok());
        text.chars().count() <= word.longest && pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }

    fn other_kind(&mut self, node: &Node, shape: &'static Shape) {
        self.problems.push(Problem::new(node.spot, found(node)).expected(shape.expected()));
    }
}

/// `is_shown`: whether anybody will read it, so that looking for what was meant is worth the time.
fn unknown_key(entry: &Entry, shape: &Fields, is_shown: bool) -> Problem {
    let names = || shape.fields.iter().map(|field| field.name);
    if entry.key == "<<" {
        return Problem::new(entry.key_spot, "`<<` merges nothing in YAML 1.2").expected("the keys written out");
    }
    let problem = Problem::new(entry.key_spot, format!("unknown key {}", quoted(&entry.key)));
    match nearest(&entry.key, names().filter(|_| is_shown)) {
        Some(meant) => Problem { suggestion: Some(meant), ..problem },
        None => problem.expected(any_of(&names().map(|name| format!("`{name}`")).collect::<Vec<_>>())),
    }
}

/// What is there instead, by its kind: never by its value, which may be a secret.
fn found(node: &Node) -> &'static str {
    match &node.value {
        Value::Map(_) => "a map",
        Value::List(_) => "a list",
        Value::Scalar(scalar) => match scalar.kind {
            Kind::Null => "nothing is written here",
            Kind::Bool => "a truth value",
            Kind::Integer => "a whole number",
            Kind::Decimal => "a number",
            Kind::Text => "text",
        },
    }
}

/// Some tokens are made of the letters that names of variables have.
fn looks_secret(text: &str) -> bool {
    text.len() >= 16 && !text.contains('_') && text.bytes().any(|byte| byte.is_ascii_digit())
}
