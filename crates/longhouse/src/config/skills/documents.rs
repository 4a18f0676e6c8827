//! A skill's `SKILL.md`: front matter between two lines of `---`, then the body.

use super::folders::Folder;
use super::{DOCUMENT, Loading, revealed, unreadable};
use crate::config::nodes::{Kind, Node};
use crate::config::parsing;
use crate::config::problems::{Problem, Spot, quoted};
use domain::skills::{BODY_LARGEST_BYTES, DESCRIPTION_LONGEST_CHARACTERS, Skill, check_name, reveal};
use std::collections::BTreeMap;

const FRONT_MATTER_BYTES_MOST: usize = 16 * 1024;
const WISHES_MOST: usize = 64;
const WISH_LONGEST: usize = 128;
const KNOWN: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

pub(super) use domain::skills::NAME_EXPECTED;

pub(super) fn is_name(name: &str) -> bool {
    check_name(name).is_none()
}

pub(super) fn read(folder: &Folder, name: &str, shown: &str, loading: &mut Loading) -> Option<Skill> {
    let file = format!("{shown}/{DOCUMENT}");
    let bytes = match folder.read(DOCUMENT, FRONT_MATTER_BYTES_MOST + BODY_LARGEST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            loading.problems.push(unreadable(&file, &error));
            return None;
        }
    };
    let before = loading.problems.len();
    let skill = understand(&bytes, name, &file, loading);
    for problem in &mut loading.problems[before..] {
        problem.file.clone_from(&file);
    }
    skill
}

fn understand(bytes: &[u8], name: &str, file: &str, loading: &mut Loading) -> Option<Skill> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        loading.problems.push(Problem::new(Spot::START, "this is not UTF-8 text"));
        return None;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((front_matter, body)) = split(text) else {
        let problem = Problem::new(Spot::START, "there is no front matter");
        loading.problems.push(problem.expected("`---`, then `name:` and `description:`, then `---`"));
        return None;
    };
    if body.len() > BODY_LARGEST_BYTES {
        loading.problems.push(Problem::new(Spot::START, "the text is too long").expected("at most 64 KiB"));
    }
    let parsed = parsing::parse(front_matter.as_bytes());
    // The line of `---` is before it.
    let lower = |spot: Spot| Spot { line: spot.line + 1, ..spot };
    let problems = parsed.problems.into_iter().map(|problem| Problem { spot: lower(problem.spot), ..problem });
    loading.problems.extend(problems);
    let root = parsed.root?;
    for entry in root.entries().iter().filter(|entry| !KNOWN.contains(&entry.key.as_str())) {
        let message = format!("the front matter's key {} is not part of the format", quoted(&entry.key));
        loading.warnings.push(Problem::new(lower(entry.key_spot), message).in_file(file));
    }
    let written = required(&root, "name", loading, lower);
    if let Some((node, written)) = written.filter(|(_, written)| *written != name) {
        let message = format!("the name {} is not that of its folder", quoted(written));
        loading.problems.push(Problem::new(lower(node.spot), message).expected(quoted(name)));
    }
    let (node, description) = required(&root, "description", loading, lower)?;
    if !(1..=DESCRIPTION_LONGEST_CHARACTERS).contains(&description.trim().chars().count()) {
        let problem = Problem::new(lower(node.spot), "the description is empty or too long");
        loading.problems.push(problem.expected("1 to 1024 characters"));
    }
    Some(Skill {
        name: name.to_owned(),
        description: revealed(description.trim(), node.spot.line + 1, file, loading),
        body: revealed(body, front_matter.matches('\n').count() + 3, file, loading),
        files: BTreeMap::new(),
        wished_tools: wishes(&root),
        warnings: Vec::new(),
    })
}

/// The front matter, with its last line break, and the body.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn required<'a>(
    root: &'a Node,
    key: &str,
    loading: &mut Loading,
    lower: impl Fn(Spot) -> Spot,
) -> Option<(&'a Node, &'a str)> {
    let node = root.get(key);
    let text = node.and_then(Node::scalar).filter(|scalar| scalar.kind == Kind::Text);
    match (node, text) {
        (Some(node), Some(text)) => return Some((node, &text.text)),
        (Some(node), None) => {
            loading.problems.push(Problem::new(lower(node.spot), format!("`{key}` is not text")).expected("text"));
        }
        (None, _) => {
            let problem = Problem::new(Spot::START, format!("the front matter has no `{key}`"));
            loading.problems.push(problem.expected(format!("`{key}: …`")));
        }
    }
    None
}

/// One text with words, or a list. What is wished is never granted, so nothing of it can be wrong.
fn wishes(root: &Node) -> Vec<String> {
    let Some(node) = root.get("allowed-tools") else { return Vec::new() };
    let words = node.text().into_iter().flat_map(|text| text.split([' ', ',', '\n']));
    let listed = node.list().iter().filter_map(Node::text);
    let all = words.chain(listed).map(str::trim).filter(|wish| !wish.is_empty());
    all.take(WISHES_MOST).map(|wish| reveal(wish).0.chars().take(WISH_LONGEST).collect()).collect()
}
