//! How files are named, how they begin, how long they may be, and what must be written with what.

use super::repository::{File, Repository};

const EMPTY_NAMES: [&str; 7] = ["core", "common", "utils", "types", "helpers", "infra", "manager"];
const SOURCE_LINES: usize = 600;
const MAIN_LINES: usize = 60;
const DECISION_LINES: usize = 60;
const ARCHITECTURE_LINES: usize = 200;

fn sources(repository: &Repository) -> impl Iterator<Item = &File> {
    repository.files.iter().filter(|file| file.path.ends_with(".rs"))
}

fn longer_than<'a>(limit: usize, files: impl Iterator<Item = &'a File>) -> Vec<String> {
    let counted = files.map(|file| (file, file.text.lines().count()));
    let long = counted.filter(|(_, lines)| *lines > limit);
    long.map(|(file, lines)| format!("{}: {lines} lines, at most {limit}", file.path)).collect()
}

/// Crates, folders, files and modules.
pub(crate) fn empty_names(repository: &Repository) -> Vec<String> {
    let is_empty = |name: &str| EMPTY_NAMES.contains(&name);
    let packages = repository.packages.iter().map(|package| package.name.as_str());
    let packages = packages.filter(|name| is_empty(name.strip_prefix("longhouse-").unwrap_or(name)));
    let mut offences: Vec<String> =
        packages.map(|name| format!("the crate {name} needs a name that says more")).collect();
    for file in sources(repository) {
        let mut parts = file.path.trim_end_matches(".rs").split('/');
        let mut modules = file.text.lines().filter_map(declared_module);
        if parts.any(is_empty) || modules.any(is_empty) {
            offences.push(format!("{}: a name that says nothing", file.path));
        }
    }
    offences
}

/// `rows` in `pub(crate) mod rows;` and `mod rows {`.
fn declared_module(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    if words.next() != Some("mod") {
        return None;
    }
    words.next().map(|name| name.trim_end_matches([';', '{']))
}

pub(crate) fn mod_files(repository: &Repository) -> Vec<String> {
    let found = sources(repository).filter(|file| file.path.ends_with("/mod.rs"));
    found.map(|file| format!("{}: call it by its folder's name, beside the folder", file.path)).collect()
}

pub(crate) fn silent_files(repository: &Repository) -> Vec<String> {
    let found = sources(repository).filter(|file| !file.text.starts_with("//!"));
    found.map(|file| format!("{}: begins without `//!`", file.path)).collect()
}

pub(crate) fn long_sources(repository: &Repository) -> Vec<String> {
    longer_than(SOURCE_LINES, sources(repository).filter(|file| file.path.starts_with("crates/")))
}

pub(crate) fn long_mains(repository: &Repository) -> Vec<String> {
    longer_than(MAIN_LINES, sources(repository).filter(|file| file.path.ends_with("src/main.rs")))
}

pub(crate) fn long_documents(repository: &Repository) -> Vec<String> {
    let decisions = repository.files.iter().filter(|file| file.path.starts_with("docs/adr/"));
    let mut offences = longer_than(DECISION_LINES, decisions);
    let architecture = repository.files.iter().filter(|file| file.path == "ARCHITECTURE.md");
    offences.extend(longer_than(ARCHITECTURE_LINES, architecture));
    offences
}

/// A client goes only where its address may lead, and follows nobody: no redirects, no proxy of the environment.
pub(crate) fn open_clients(repository: &Repository) -> Vec<String> {
    const GUARDS: [&str; 3] = [".dns_resolver(", ".redirect(Policy::none())", ".no_proxy()"];
    let mut offences = Vec::new();
    let is_product = |file: &&File| file.path.starts_with("crates/") && file.path.contains("/src/");
    for file in sources(repository).filter(is_product) {
        let made = file.text.matches("Client::builder()").count();
        if made != 0 && GUARDS.iter().any(|guard| file.text.matches(guard).count() < made) {
            offences.push(format!("{}: a client without {}", file.path, GUARDS.join(", ")));
        }
        if file.text.contains("Client::new()") || file.text.contains("reqwest::get(") {
            offences.push(format!("{}: a client that goes anywhere", file.path));
        }
    }
    offences
}
