//! Skills from their folders: `<name>/SKILL.md` with front matter, and the text files beside it. Links are not followed
//! and nothing outside the folder is read. A skill that somebody names must be right; another one is only told of.

mod documents;
mod folders;

use super::meanings::Findings;
use super::nodes::Node;
use super::problems::{Problem, Spot, quoted};
use domain::skills::{Skill, check_name};
pub(crate) use folders::skills_folders;
use folders::{Folder, Listing};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

const SKILLS_MOST: usize = 128;
/// The rules of a house are read whole, again and again.
const ALL_BYTES_MOST: usize = 8 * 1024 * 1024;

pub(crate) const DOCUMENT: &str = "SKILL.md";

/// What one skill's folder gave.
#[derive(Debug, Default)]
struct Loading {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

/// Loads every skill of a folder. `written` is where the file names the folder, `wanted` are the places that name a
/// skill.
pub(crate) fn load(
    path: &Path,
    written: Option<&Node>,
    wanted: &[&Node],
    findings: &mut Findings,
) -> BTreeMap<String, Skill> {
    let named: BTreeSet<&str> = wanted.iter().filter_map(|node| node.text()).collect();
    let shown = path.display().to_string();
    let opened = Folder::open(path).and_then(|folder| Ok((folder.list()?, Some(folder))));
    let (listing, folder) = match opened {
        Ok(opened) => opened,
        // Nobody has to have skills.
        Err(error) if written.is_none() && error.kind() == ErrorKind::NotFound => (Listing::default(), None),
        Err(error) => {
            findings.problems.push(no_folder(&shown, written, &error));
            return BTreeMap::new();
        }
    };
    if listing.is_cut {
        findings.warnings.push(folders::cut(&shown));
    }
    let entries = listing.entries.into_iter();
    let names: BTreeSet<String> = entries.filter(|entry| entry.is_folder).map(|entry| entry.name).collect();
    absent(wanted, &names, &shown, findings);
    let mut skills = BTreeMap::new();
    let Some(folder) = folder else { return skills };
    let mut bytes = 0;
    for name in names.into_iter().filter(|name| !name.starts_with('.')) {
        let mut loading = Loading::default();
        let skill = load_one(&folder, &name, &path.join(&name).display().to_string(), &mut loading);
        if !named.contains(name.as_str()) {
            loading.warnings.append(&mut loading.problems);
        }
        findings.problems.append(&mut loading.problems);
        findings.warnings.append(&mut loading.warnings);
        let Some(skill) = skill else { continue };
        bytes += skill.body.len() + skill.files.values().map(String::len).sum::<usize>();
        skills.insert(name, skill);
        if skills.len() > SKILLS_MOST || bytes > ALL_BYTES_MOST {
            let problem = Problem::new(Spot::START, "too many skills").in_file(&shown);
            let most = format!("at most {SKILLS_MOST} with {} MiB in all", ALL_BYTES_MOST / 1024 / 1024);
            findings.problems.push(problem.expected(most));
            break;
        }
    }
    skills
}

/// The folder itself cannot be read, and that is not the same as one without skills.
fn no_folder(shown: &str, written: Option<&Node>, error: &std::io::Error) -> Problem {
    let why = match error.kind() {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        _ => super::files::why(error),
    };
    let message = format!("the folder of the skills cannot be read: {why}");
    match written {
        Some(node) => Problem::new(node.spot, message).expected(format!("a folder at {shown}")),
        None => Problem::new(Spot::START, message).in_file(shown),
    }
}

/// Names in the file for which there is no folder.
fn absent(wanted: &[&Node], names: &BTreeSet<String>, folder: &str, findings: &mut Findings) {
    for node in wanted {
        let Some(name) = node.text().filter(|name| check_name(name).is_none() && !names.contains(*name)) else {
            continue;
        };
        let problem = Problem::new(node.spot, format!("there is no skill {}", quoted(name)))
            .expected(format!("a folder of that name with a {DOCUMENT} in {folder}"));
        findings.unknown(problem, name, names.iter().map(String::as_str));
    }
}

fn load_one(parent: &Folder, name: &str, shown: &str, loading: &mut Loading) -> Option<Skill> {
    if let Some(expected) = check_name(name) {
        let problem = Problem::new(Spot::START, "the folder's name cannot be a skill's").in_file(shown);
        loading.problems.push(problem.expected(expected));
        return None;
    }
    let opened = parent.enter(name);
    let folder = opened.map_err(|error| loading.problems.push(unreadable(shown, &error))).ok()?;
    let mut skill = documents::read(&folder, name, shown, loading)?;
    folders::read_files(&folder, shown, &mut skill, loading);
    let inside = format!("{shown}/");
    skill.warnings.extend(loading.warnings.iter().map(|warning| warning.to_string().replace(&inside, "")));
    loading.problems.is_empty().then_some(skill)
}

fn unreadable(shown: &str, error: &std::io::Error) -> Problem {
    let message = format!("cannot be read: {}", super::files::why(error));
    Problem::new(Spot::START, message).in_file(shown)
}

/// Writes hidden characters visibly and says where the first one was. `first_line`: where the text begins in its file.
fn revealed(text: &str, first_line: usize, file: &str, loading: &mut Loading) -> String {
    let (shown, hidden) = domain::skills::reveal(text);
    if let Some(first) = hidden.first() {
        let more = if hidden.len() > 1 { format!(" and {} more like it", hidden.len() - 1) } else { String::new() };
        let message = format!("the hidden character U+{:04X}{more}, shown to agents visibly", u32::from(first.code));
        let spot = Spot { line: first.line + first_line - 1, column: first.column };
        loading.warnings.push(Problem::new(spot, message).in_file(file));
    }
    shown
}

#[cfg(test)]
mod tests;
